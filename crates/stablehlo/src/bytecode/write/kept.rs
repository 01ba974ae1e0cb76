//! Operations that a module keeps as text, in generic form.

use shardc_ir::Diagnostic;

use super::program::{Op, Program};
use crate::codes;

/// Reads the text of an operation.
pub(super) fn op(_program: &mut Program<'_>, _text: &str) -> Result<Op, Diagnostic> {
    Err(Diagnostic::unsupported(codes::NOT_WRITTEN, "kept"))
}
