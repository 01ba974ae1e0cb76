//! Types of VHLO, decoded directly to builtin and StableHLO types.
//!
//! Source: `stablehlo/dialect/VhloBytecode.cpp` and `VhloTypes.td` of StableHLO. Codes never change: newer versions of
//! the dialect only add codes.

use crate::bytecode::attr::{BType, Piece, Sign, TypeRef};
use crate::bytecode::builtin;
use crate::bytecode::dialect::DialectCursor;
use crate::bytecode::quant::{self, Storage};
use crate::bytecode::stablehlo::separated;
use crate::lexer::Res;

/// Decodes a type.
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
        42 => {
            let mut pieces = vec![Piece::Text("!stablehlo.future<".into())];
            separated(&mut pieces, cursor.tys()?.into_iter().map(Piece::Type));
            pieces.push(Piece::Text(">".into()));
            BType::Pieces(pieces)
        }
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

/// Reads a buffer type without layout and memory space: `memref<2x?xf32>`.
fn buffer<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let head = buffer_head(&shape(cursor)?);
    let element = cursor.ty()?;
    Ok(BType::Pieces(vec![Piece::Text(head.into()), Piece::Type(element), Piece::Text(">".into())]))
}

/// Returns the text of a buffer type before its element type.
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

/// The fields with which every encoding of a quantized type begins.
struct Quantized {
    signed: bool,
    width: u32,
    expressed: TypeRef,
}

impl Quantized {
    fn read(cursor: &mut DialectCursor<'_, '_>) -> Res<Self> {
        let signed = cursor.varint()? & 1 == 1;
        let place = cursor.cursor;
        let storage = cursor.ty()?;
        let Some(width) = builtin::int_width(cursor, storage) else {
            return Err(place.malformed("expected the integer storage type of a quantized type"));
        };
        Ok(Quantized { signed, width, expressed: cursor.ty()? })
    }

    fn storage(&self, cursor: &mut DialectCursor<'_, '_>) -> Res<Storage> {
        Ok(Storage { signed: self.signed, width: self.width, min: cursor.svarint()?, max: cursor.svarint()? })
    }
}

/// Reads the bits of a double.
pub(super) fn double(cursor: &mut DialectCursor<'_, '_>) -> Res<u64> {
    Ok(cursor.words(64)?.first().copied().unwrap_or(0))
}

fn quantized<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let head = Quantized::read(cursor)?;
    let params = (double(cursor)?, cursor.svarint()?);
    Ok(quant::uniform(head.storage(cursor)?, head.expressed, params))
}

fn quantized_per_axis<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let head = Quantized::read(cursor)?;
    let axis = cursor.varint()?;
    let storage = head.storage(cursor)?;
    let scales = cursor.list("scales", double)?;
    let place = cursor.cursor;
    let zero_points = cursor.svarints()?;
    if scales.len() != zero_points.len() {
        let message = format!("expected {} zero points, found {}", scales.len(), zero_points.len());
        return Err(place.malformed(message));
    }
    Ok(quant::per_axis(storage, head.expressed, axis, scales.into_iter().zip(zero_points)))
}
