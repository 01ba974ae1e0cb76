//! The encoding of the `chlo` dialect.

use super::attr::{BAttr, BType};
use super::dialect::{DialectCursor, DialectReader};
use super::stablehlo::{COMPARISON_TYPES, COMPARISONS, word};
use crate::lexer::Res;

/// The entry of this dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "chlo", attr: read_attr, ty: read_type };

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    Ok(match c.varint()? {
        0 => BAttr::text(format!("#chlo<comparison_direction {}>", word(c, COMPARISONS)?)),
        1 => BAttr::text(format!("#chlo<comparison_type {}>", word(c, COMPARISON_TYPES)?)),
        code => return c.unknown("a chlo attribute (0 or 1)", code),
    })
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let code = c.varint()?;
    c.unknown("a chlo type (there is none)", code)
}
