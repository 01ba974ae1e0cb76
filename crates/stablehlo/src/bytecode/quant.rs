//! The encoding of the `quant` dialect: quantized element types.

use std::borrow::Cow;

use super::attr::{BAttr, BType, Piece};
use super::dialect::{DialectCursor, DialectReader};
use crate::floats;
use crate::lexer::Res;

/// The row of the dialect.
pub(super) const DIALECT: DialectReader = DialectReader { name: "quant", attr: read_attr, ty: read_type };

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let code = c.varint()?;
    c.unknown("a quant attribute (there is none)", code)
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let _ = (c, Cow::Borrowed(""), Piece::Quoted(b""), floats::encode as fn(_, _) -> _);
    todo_type()
}

fn todo_type<'b>() -> Res<BType<'b>> {
    Ok(BType::None)
}
