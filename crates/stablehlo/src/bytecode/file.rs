//! The decoded sections of a file, which the decoder of operations uses.

use super::attr::Store;
use super::reader::ByteCursor;

/// From this version on, inherent attributes are stored separately from the other attributes.
pub(super) const PROPERTIES: u64 = 5;

/// An operation name that the file lists.
#[derive(Clone, Debug)]
pub(super) struct OpName {
    /// Full name, with dialect.
    pub(super) name: String,
    /// Whether the writer registered the operation; encoded from version 5 on.
    pub(super) registered: Option<bool>,
}

/// The decoded sections, except the operations.
#[derive(Debug)]
pub(super) struct File<'b> {
    /// The version of the format.
    pub(super) version: u64,
    /// Attributes and types.
    pub(super) store: Store<'b>,
    /// Names of operations.
    pub(super) ops: Vec<OpName>,
    /// The encoded inherent attributes, one cursor per entry.
    pub(super) properties: Vec<ByteCursor<'b>>,
}
