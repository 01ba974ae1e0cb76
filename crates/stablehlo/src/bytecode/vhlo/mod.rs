//! The versioned dialect of portable artifacts.

use super::attr::{BAttr, BType, Store};
use super::dialect::{DialectCursor, DialectReader};
use super::ir::OpRecord;
use crate::lexer::Res;

/// The row of the dialect.
pub(super) const DIALECT: DialectReader = DialectReader { name: "vhlo", attr: read_attr, ty: read_type };

/// The inherent attributes of a `vhlo` operation in the order in which its bytecode has them, separated by blanks;
/// `?` behind a name says that it may be absent. `None` for an operation that is not known.
pub(super) fn properties(_op: &str) -> Option<&'static str> {
    None
}

/// Rewrites a `vhlo` operation into the operation that it stands for: name, attributes, types of results.
pub(super) fn rewrite<'b>(_store: &mut Store<'b>, op: &mut OpRecord<'b>) -> Res<()> {
    Err(super::reader::malformed_at(op.offset, format!("expected a known operation, found `{}`", op.name)))
}

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let code = c.varint()?;
    c.unknown("a vhlo attribute", code)
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let code = c.varint()?;
    c.unknown("a vhlo type", code)
}
