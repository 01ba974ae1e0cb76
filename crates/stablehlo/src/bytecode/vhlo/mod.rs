//! VHLO: the versioned dialect of portable artifacts. It is StableHLO with a version on each operation, attribute and type. The dialect is
//! stable from 0.9.0 on: the meaning of an artifact never changes.
//!
//! * [`types`] and [`attrs`] decode entries directly to builtin and StableHLO types and attributes.
//! * [`table`]: the operations of all versions.
//! * [`convert`] converts operations to StableHLO; [`join`] builds structured attributes from the separate attributes
//!   of VHLO.
//! * [`casts`] removes casts between VHLO and other dialects.
//! * [`version`]: the version of StableHLO that wrote an artifact, and the errors for newer versions.

mod attrs;
mod casts;
mod convert;
pub(super) mod join;
pub(super) mod table;
pub(super) mod types;
mod values;
mod version;

use shardc_ir::Diagnostic;

pub use version::Version;

use super::dialect::DialectReader;
use super::reader::ByteCursor;
use crate::codes;
use crate::lexer::Failure;

pub(super) use casts::drop_casts;
pub(super) use convert::Converter;
pub(super) use version::{check_operations, explain};

/// The entry of this dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "vhlo", attr: attrs::read, ty: types::read };

/// Returns the names of the inherent attributes of a `vhlo` operation in the order of its bytecode, separated by spaces. Returns `None` for
/// an unknown operation.
pub(super) fn properties(op: &str) -> Option<&'static str> {
    table::row(op.strip_prefix("vhlo.").unwrap_or(op)).map(|row| &*row.names)
}

/// Returns the error for an unknown code of an attribute or type at `place`.
fn newer(place: &ByteCursor<'_>, what: &str, code: u64) -> Failure {
    let message = format!(
        "at byte {}: `vhlo` has no {what} with the code {code} up to version {}",
        place.offset(),
        Version(table::NEWEST)
    );
    Diagnostic::unsupported(codes::ENCODING, message).into()
}
