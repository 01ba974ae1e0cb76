//! Types of VHLO, decoded straight into what they are in builtin and StableHLO terms.
//!
//! Source: `stablehlo/dialect/VhloBytecode.cpp` and `VhloTypes.td` of StableHLO. The codes never change: a newer
//! dialect adds codes.

use crate::bytecode::attr::{BType, Piece, Sign, TypeRef};
use crate::bytecode::dialect::DialectCursor;
use crate::lexer::Res;

/// Reads a type.
pub(super) fn read<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let place = cursor.cursor;
    let int = |width, sign| BType::Int { width, sign };
    Ok(match cursor.varint()? {
        0 => int(1, Sign::Signless),
        1 => BType::Complex(cursor.ty()?),
        2 => BType::Float("bf16"),
        3 => BType::Float("f16"),
        4 => BType::Float("f32"),
        5 => BType::Float("f64"),
        6 => BType::Float("f8E4M3FN"),
        7 => BType::Float("f8E5M2"),
        8 => {
            let inputs = cursor.tys()?;
            BType::Function { inputs, results: cursor.tys()? }
        }
        9 => BType::Index,
        10 => int(4, Sign::Signless),
        11 => int(8, Sign::Signless),
        12 => int(16, Sign::Signless),
        13 => int(32, Sign::Signless),
        14 => int(64, Sign::Signless),
        15 => int(4, Sign::Unsigned),
        16 => int(8, Sign::Unsigned),
        17 => int(16, Sign::Unsigned),
        18 => int(32, Sign::Unsigned),
        19 => int(64, Sign::Unsigned),
        20 => BType::Tensor { shape: shape(cursor)?, element: cursor.ty()?, encoding: None },
        21 => {
            let encoding = Some(cursor.attr()?);
            BType::Tensor { shape: shape(cursor)?, element: cursor.ty()?, encoding }
        }
        22 => BType::text("!stablehlo.token"),
        23 => BType::Tuple(cursor.tys()?),
        24 => quantized(cursor)?,
        25 => BType::UnrankedTensor(cursor.ty()?),
        26 => BType::text("!shape.witness"),
        27 => BType::Float("f8E4M3FNUZ"),
        28 => BType::Float("f8E5M2FNUZ"),
        29 => BType::Float("f8E4M3B11FNUZ"),
        30 => quantized_per_axis(cursor)?,
        31 => int(2, Sign::Signless),
        32 => int(2, Sign::Unsigned),
        33 => BType::None,
        34 => BType::Float("tf32"),
        35 => BType::Float("f8E4M3"),
        36 => BType::Float("f8E3M4"),
        37 => BType::Float("f4E2M1FN"),
        38 => BType::Float("f6E2M3FN"),
        39 => BType::Float("f6E3M2FN"),
        40 => BType::Float("f8E8M0FNU"),
        41 => buffer(cursor)?,
        42 => listed("!stablehlo.future<", cursor.tys()?),
        code => return Err(super::newer(&place, "type", code)),
    })
}

fn shape(cursor: &mut DialectCursor<'_, '_>) -> Res<Vec<i64>> {
    let place = cursor.cursor;
    let sizes = cursor.svarints()?;
    match sizes.iter().find(|&&size| size < 0 && size != shardc_ir::DYNAMIC) {
        Some(size) => Err(place.malformed(format!("expected the size of a dimension, found {size}"))),
        None => Ok(sizes),
    }
}

/// `memref<2x?xf32>`: a buffer has no layout and no memory space.
fn buffer<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let head = buffer_head(&shape(cursor)?);
    let element = cursor.ty()?;
    Ok(BType::Pieces(vec![Piece::Text(head.into()), Piece::Type(element), Piece::Text(">".into())]))
}

/// The text of a buffer type before that of its element type.
pub(super) fn buffer_head(shape: &[i64]) -> String {
    let mut head = String::from("memref<");
    for &size in shape {
        match size {
            shardc_ir::DYNAMIC => head.push_str("?x"),
            size => head.push_str(&format!("{size}x")),
        }
    }
    head
}

fn listed<'b>(head: &'static str, types: Vec<TypeRef>) -> BType<'b> {
    let mut out = vec![Piece::Text(head.into())];
    for (i, ty) in types.into_iter().enumerate() {
        if i > 0 {
            out.push(Piece::Text(", ".into()));
        }
        out.push(Piece::Type(ty));
    }
    out.push(Piece::Text(">".into()));
    BType::Pieces(out)
}

fn quantized<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    cursor.varint()?;
    cursor.ty()?;
    cursor.ty()?;
    cursor.words(64)?;
    cursor.svarint()?;
    cursor.svarint()?;
    cursor.svarint()?;
    Ok(BType::None)
}

fn quantized_per_axis<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    cursor.varint()?;
    cursor.ty()?;
    cursor.ty()?;
    cursor.varint()?;
    cursor.svarint()?;
    cursor.svarint()?;
    cursor.list("scales", |c| c.words(64))?;
    cursor.svarints()?;
    Ok(BType::None)
}
