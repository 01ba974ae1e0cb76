//! The encoding of the `quant` dialect: quantized element types.

use std::fmt::Write as _;

use shardc_ir::{DType, floats};

use super::attr::{BAttr, BType, Piece, Sign, TypeRef};
use super::dialect::{DialectCursor, DialectReader};
use crate::lexer::Res;

/// The entry of this dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "quant", attr: read_attr, ty: read_type };

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let code = c.varint()?;
    c.unknown("a quant attribute (there is none)", code)
}

/// The storage of a quantized type.
#[derive(Clone, Copy)]
pub(super) struct Storage {
    /// Whether the storage type is signed.
    pub(super) signed: bool,
    /// The width in bits.
    pub(super) width: u32,
    /// The least value that the quantized type uses.
    pub(super) min: i64,
    /// The greatest value that the quantized type uses.
    pub(super) max: i64,
}

impl Storage {
    /// Returns the storage type as text: `i8`, or with its range, `u8<0:127>`, if the range is not the full range of the type.
    fn text(self) -> String {
        let bits = self.width.min(63);
        let (min, max) = if self.signed {
            (-(1i64 << (bits.max(1) - 1)), (1i64 << (bits.max(1) - 1)) - 1)
        } else {
            (0, ((1u64 << bits) - 1) as i64)
        };
        let mut text = format!("{}{}", if self.signed { 'i' } else { 'u' }, self.width);
        if (min, max) != (self.min, self.max) {
            let _ = write!(text, "<{}:{}>", self.min, self.max);
        }
        text
    }
}

fn width(c: &DialectCursor<'_, '_>, ty: TypeRef) -> Res<u32> {
    match *c.type_at(ty) {
        BType::Int { width, sign: Sign::Signless | Sign::Signed | Sign::Unsigned } => Ok(width),
        _ => Err(c.cursor.malformed("expected the integer storage type of a quantized type")),
    }
}

fn push_float(out: &mut String, bits: u64) {
    floats::push(out, DType::F64, bits);
}

fn push_params(out: &mut String, (scale, zero_point): (u64, i64)) {
    push_float(out, scale);
    if zero_point != 0 {
        let _ = write!(out, ":{zero_point}");
    }
}

fn double(c: &mut DialectCursor<'_, '_>) -> Res<u64> {
    Ok(c.words(64)?.first().copied().unwrap_or(0))
}

/// Returns a per-tensor quantized type: `!quant.uniform<i8:f32, 1.0:3>`.
pub(super) fn uniform<'b>(storage: Storage, expressed: TypeRef, params: (u64, i64)) -> BType<'b> {
    let mut tail = String::from(", ");
    push_params(&mut tail, params);
    tail.push('>');
    pieces("uniform", storage, expressed, tail)
}

/// Returns a per-axis quantized type: `!quant.uniform<i8:f32:1, {1.0:3,2.0}>`.
pub(super) fn per_axis<'b>(
    storage: Storage,
    expressed: TypeRef,
    axis: u64,
    params: impl IntoIterator<Item = (u64, i64)>,
) -> BType<'b> {
    let mut tail = format!(":{axis}, {{");
    for (i, params) in params.into_iter().enumerate() {
        if i > 0 {
            tail.push(',');
        }
        push_params(&mut tail, params);
    }
    tail.push_str("}>");
    pieces("uniform", storage, expressed, tail)
}

fn pieces<'b>(kind: &str, storage: Storage, expressed: TypeRef, tail: String) -> BType<'b> {
    let head = format!("!quant.{kind}<{}:", storage.text());
    BType::Pieces(vec![Piece::Text(head.into()), Piece::Type(expressed), Piece::Text(tail.into())])
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let place = c.cursor;
    let code = c.varint()?;
    if code == 3 {
        let expressed = c.ty()?;
        let mut range = String::from("<");
        push_float(&mut range, double(c)?);
        range.push(':');
        push_float(&mut range, double(c)?);
        range.push_str(">>");
        return Ok(BType::Pieces(vec![
            Piece::Text("!quant.calibrated<".into()),
            Piece::Type(expressed),
            Piece::Text(range.into()),
        ]));
    }
    if !(1..=6).contains(&code) {
        return c.unknown("a quant type (1 to 6)", code);
    }
    let signed = c.varint()? & 1 == 1;
    let storage_type = c.ty()?;
    let width = width(c, storage_type)?;
    Ok(match code {
        1 => {
            let storage = Storage { signed, width, min: c.svarint()?, max: c.svarint()? };
            BType::text(format!("!quant.any<{}>", storage.text()))
        }
        2 => {
            let expressed = c.ty()?;
            let storage = Storage { signed, width, min: c.svarint()?, max: c.svarint()? };
            pieces("any", storage, expressed, ">".to_owned())
        }
        4 => {
            let expressed = c.ty()?;
            let params = (double(c)?, c.svarint()?);
            uniform(Storage { signed, width, min: c.svarint()?, max: c.svarint()? }, expressed, params)
        }
        5 => {
            let expressed = c.ty()?;
            let axis = c.varint()?;
            let storage = Storage { signed, width, min: c.svarint()?, max: c.svarint()? };
            let scales = c.list("scales", double)?;
            let zero_points = c.svarints()?;
            if scales.len() != zero_points.len() {
                let message = format!("expected {} zero points, found {}", scales.len(), zero_points.len());
                return Err(place.malformed(message));
            }
            per_axis(storage, expressed, axis, scales.into_iter().zip(zero_points))
        }
        _ => return Err(place.malformed("quantized types with sub-channel blocks are not supported")),
    })
}
