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

/// Float types by code.
pub(in crate::bytecode) const FLOATS: &[(u64, &str)] = &[
    (2, "bf16"),
    (3, "f16"),
    (4, "f32"),
    (5, "f64"),
    (6, "f8E4M3FN"),
    (7, "f8E5M2"),
    (27, "f8E4M3FNUZ"),
    (28, "f8E5M2FNUZ"),
    (29, "f8E4M3B11FNUZ"),
    (34, "tf32"),
    (35, "f8E4M3"),
    (36, "f8E3M4"),
    (37, "f4E2M1FN"),
    (38, "f6E2M3FN"),
    (39, "f6E3M2FN"),
    (40, "f8E8M0FNU"),
];

/// Integer types: code, width and sign.
pub(in crate::bytecode) const INTEGERS: &[(u64, u32, Sign)] = &[
    (0, 1, Sign::Signless),
    (10, 4, Sign::Signless),
    (11, 8, Sign::Signless),
    (12, 16, Sign::Signless),
    (13, 32, Sign::Signless),
    (14, 64, Sign::Signless),
    (15, 4, Sign::Unsigned),
    (16, 8, Sign::Unsigned),
    (17, 16, Sign::Unsigned),
    (18, 32, Sign::Unsigned),
    (19, 64, Sign::Unsigned),
    (31, 2, Sign::Signless),
    (32, 2, Sign::Unsigned),
];

/// Decodes a type.
pub(super) fn read<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let place = cursor.cursor;
    let code = cursor.varint()?;
    if let Some((_, name)) = FLOATS.iter().find(|(at, _)| *at == code) {
        return Ok(BType::Float(name));
    }
    if let Some(&(_, width, sign)) = INTEGERS.iter().find(|(at, ..)| *at == code) {
        return Ok(BType::Int { width, sign });
    }
    Ok(match code {
        1 => BType::Complex(cursor.ty()?),
        8 => {
            let inputs = cursor.tys()?;
            BType::Function { inputs, results: cursor.tys()? }
        }
        9 => BType::Index,
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
        30 => quantized_per_axis(cursor)?,
        33 => BType::None,
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
