//! VHLO: the versioned dialect that portable artifacts are written in. It is StableHLO with a version on each
//! operation, attribute and type, and stable from 0.9.0 on: what an artifact says never changes its meaning.
//!
//! * [`types`] and [`attrs`] decode entries straight into what they are in builtin and StableHLO terms.
//! * [`table`] knows the operations of all versions.
//! * [`convert`] makes an operation the StableHLO operation that it stands for; [`join`] puts together the
//!   structured attributes that VHLO spells in parts.
//! * [`casts`]: what stands between VHLO and operations of other dialects.
//! * [`version`]: which version of StableHLO wrote an artifact, and what is said where that is too new.

mod attrs;
mod casts;
mod convert;
mod join;
mod table;
mod types;
mod version;

use shardc_ir::Diagnostic;

use version::Version;

use super::dialect::DialectReader;
use super::reader::ByteCursor;
use crate::codes;
use crate::lexer::Failure;

pub(super) use casts::drop_casts;
pub(super) use convert::Converter;
pub(super) use version::{check_operations, explain};

/// The row of the dialect.
pub(super) const DIALECT: DialectReader = DialectReader { name: "vhlo", attr: attrs::read, ty: types::read };

/// The inherent attributes of a `vhlo` operation in the order in which its bytecode has them, separated by blanks.
/// `None` for an operation that is not known.
pub(super) fn properties(op: &str) -> Option<&'static str> {
    table::row(op.strip_prefix("vhlo.").unwrap_or(op)).map(|row| &*row.names)
}

/// An error: `place` has the code of an attribute or type that is not known.
fn newer(place: &ByteCursor<'_>, what: &str, code: u64) -> Failure {
    let message = format!(
        "at byte {}: `vhlo` has no {what} with the code {code} up to version {}",
        place.offset(),
        Version(table::NEWEST)
    );
    Diagnostic::unsupported(codes::ENCODING, message).into()
}
