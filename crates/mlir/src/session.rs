//! An MLIR context for one lowering, and the errors that MLIR reports.

use melior::{Context, dialect::DialectHandle};
use shardc_ir::Diagnostic;

use crate::ffi::{self, Errors};

/// A single-threaded MLIR context with the dialects `builtin` and `func`. It allows unregistered dialects.
pub(crate) struct Session {
    pub(crate) context: Context,
    errors: Errors,
}

impl Session {
    pub(crate) fn new() -> Self {
        let session = Session::without_dialects();
        DialectHandle::func().load_dialect(&session.context);
        session
    }

    /// Creates a context with the dialect `builtin` only. The dialect `func` is not loaded: within an unregistered operation, the verifier
    /// of `func.call` would look up the function there and fail.
    pub(crate) fn without_dialects() -> Self {
        let context = Context::new_with_threading(false);
        let errors = ffi::collect_errors(&context);
        context.set_allow_unregistered_dialects(true);
        Session { context, errors }
    }

    /// A diagnostic with the message `what` and MLIR's errors.
    pub(crate) fn failure(&self, code: &'static str, what: impl Into<String>) -> Diagnostic {
        let mut what = what.into();
        // All errors are removed, so that the next failure does not repeat them.
        let errors = self.errors.take();
        if !errors.is_empty() {
            what.push_str(": ");
            what.push_str(&errors.join("; "));
        }
        Diagnostic::internal(code, what)
    }
}
