//! The encoding of MLIR's builtin dialect.

use shardc_ir::DYNAMIC;

use super::attr::{BAttr, BLoc, BType, Sign, TypeRef};
use super::dialect::{DialectCursor, DialectReader};
use crate::lexer::Res;

/// The entry of the builtin dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "builtin", attr: read_attr, ty: read_type };

/// Float types by code.
pub(super) const FLOATS: &[(u64, &str)] = &[
    (3, "bf16"),
    (4, "f16"),
    (5, "f32"),
    (6, "f64"),
    (7, "f80"),
    (8, "f128"),
    (21, "tf32"),
    (22, "f8E5M2"),
    (23, "f8E4M3"),
    (24, "f8E4M3FN"),
    (25, "f8E5M2FNUZ"),
    (26, "f8E4M3FNUZ"),
    (27, "f8E4M3B11FNUZ"),
    (28, "f8E3M4"),
    (29, "f4E2M1FN"),
    (30, "f6E2M3FN"),
    (31, "f6E3M2FN"),
    (32, "f8E8M0FNU"),
];

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let place = c.cursor;
    Ok(match c.varint()? {
        0 => BAttr::Array(c.attrs()?),
        1 => BAttr::Dict(c.list("attributes", |c| Ok((c.attr()?, c.attr()?)))?),
        2 => BAttr::string(c.string()?),
        3 => {
            let bytes = c.string()?.into();
            BAttr::Str { bytes, ty: Some(c.ty()?) }
        }
        4 => BAttr::SymbolPath { root: c.attr()?, nested: Vec::new() },
        5 => {
            let root = c.attr()?;
            BAttr::SymbolPath { root, nested: c.attrs()? }
        }
        6 => BAttr::Type(c.ty()?),
        7 => BAttr::Unit,
        8 => {
            let ty = c.ty()?;
            let width = match *c.type_at(ty) {
                BType::Int { width, .. } => width,
                BType::Index => 64,
                _ => return Err(place.malformed("expected an integer type for an integer attribute")),
            };
            BAttr::Int { ty, words: c.words(width)? }
        }
        9 => {
            let ty = c.ty()?;
            let Some(width) = float_width(c.type_at(ty)) else {
                return Err(place.malformed("expected a float type for a float attribute"));
            };
            BAttr::Float { ty, words: c.words(width)? }
        }
        10 => {
            let callee = c.attr()?;
            BAttr::Loc(BLoc::CallSite { callee, caller: c.attr()? })
        }
        11 => {
            let file = c.attr()?;
            let line = c.varint()?;
            BAttr::Loc(BLoc::File { file, line, col: c.varint()?, end: None })
        }
        12 => BAttr::Loc(BLoc::Fused { metadata: None, children: c.attrs()? }),
        13 => {
            let children = c.attrs()?;
            BAttr::Loc(BLoc::Fused { metadata: Some(c.attr()?), children })
        }
        14 => {
            let name = c.attr()?;
            BAttr::Loc(BLoc::Name { name, child: c.attr()? })
        }
        15 => BAttr::Loc(BLoc::Unknown),
        16 => {
            let ty = c.ty()?;
            BAttr::DenseResource { ty, key: c.resource()? }
        }
        17 => {
            let element = c.ty()?;
            let count = c.varint()?;
            BAttr::DenseArray { element, count, bytes: c.blob()?.into() }
        }
        18 => {
            let ty = c.ty()?;
            BAttr::Dense { ty, bytes: c.blob()?.into() }
        }
        19 => {
            let ty = c.ty()?;
            let splat = c.varint()? != 0;
            let count = match (splat, elements(c.type_at(ty))) {
                (true, _) => 1,
                (false, Some(count)) => count,
                (false, None) => return Err(place.malformed("expected a static tensor type for strings")),
            };
            if count > c.cursor.left() as u64 {
                let message = format!("expected {count} strings, but only {} bytes follow", c.cursor.left());
                return Err(place.malformed(message));
            }
            BAttr::DenseStrings { ty, items: (0..count).map(|_| c.string()).collect::<Res<_>>()? }
        }
        20 => {
            let ty = c.ty()?;
            let indices = c.attr()?;
            BAttr::Sparse { ty, indices, values: c.attr()? }
        }
        21 => BAttr::Distinct(c.attr()?),
        22 => {
            let file = c.attr()?;
            let numbers = c.list("line and column numbers", DialectCursor::varint)?;
            // The numbers are the line and the column of the start, then the line and the column of the end. With one number, there is only
            // the line; with three, the end has only a column.
            let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
            let (line, col) = (at(0), at(1));
            let end = match numbers.len() {
                0..=2 => None,
                3 => Some((line, at(2))),
                4 => Some((at(2), at(3))),
                n => return Err(place.malformed(format!("expected at most 4 numbers of a range, found {n}"))),
            };
            BAttr::Loc(BLoc::File { file, line, col, end })
        }
        code => return c.unknown("a builtin attribute (0 to 22)", code),
    })
}

/// Returns the number of bits of a float type.
fn float_width(ty: &BType<'_>) -> Option<u32> {
    let name = match ty {
        BType::Float(name) => *name,
        BType::Pieces(_) => ty.as_text()?,
        _ => return None,
    };
    width_of_float(name)
}

/// Returns the number of bits of the float type with this name.
pub(super) fn width_of_float(name: &str) -> Option<u32> {
    Some(match name {
        "f64" => 64,
        "f80" => 80,
        "f128" => 128,
        _ => shardc_ir::DType::parse(name).filter(|dtype| dtype.is_float()).map(|dtype| match dtype {
            shardc_ir::DType::TF32 => 19,
            _ => dtype.bits(),
        })?,
    })
}

/// Returns the number of elements of a static tensor or vector type.
fn elements(ty: &BType<'_>) -> Option<u64> {
    let (BType::Tensor { shape, .. } | BType::Vector { shape, .. }) = ty else { return None };
    shape.iter().try_fold(1u64, |n, &size| n.checked_mul(u64::try_from(size).ok()?))
}

fn shape(c: &mut DialectCursor<'_, '_>) -> Res<Vec<i64>> {
    let place = c.cursor;
    let sizes = c.svarints()?;
    if let Some(&bad) = sizes.iter().find(|&&size| size < 0 && size != DYNAMIC) {
        return Err(place.malformed(format!("expected non-negative sizes, found {bad}")));
    }
    Ok(sizes)
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    let place = c.cursor;
    let code = c.varint()?;
    if let Some((_, name)) = FLOATS.iter().find(|(at, _)| *at == code) {
        return Ok(BType::Float(name));
    }
    Ok(match code {
        0 => {
            let value = c.varint()?;
            let width = match u32::try_from(value >> 2) {
                // The widest integer type of MLIR has 2^24 - 1 bits.
                Ok(width) if width < 1 << 24 => width,
                _ => return Err(place.malformed(format!("expected an integer width, found {}", value >> 2))),
            };
            let sign = match value & 3 {
                0 => Sign::Signless,
                1 => Sign::Signed,
                2 => Sign::Unsigned,
                n => return Err(place.malformed(format!("expected a signedness from 0 to 2, found {n}"))),
            };
            BType::Int { width, sign }
        }
        1 => BType::Index,
        2 => {
            let inputs = c.tys()?;
            BType::Function { inputs, results: c.tys()? }
        }
        9 => BType::Complex(c.ty()?),
        10 => {
            let shape = shape(c)?;
            let element = c.ty()?;
            BType::MemRef { shape, element, layout: c.attr()?, space: None }
        }
        11 => {
            let space = Some(c.attr()?);
            let shape = shape(c)?;
            let element = c.ty()?;
            BType::MemRef { shape, element, layout: c.attr()?, space }
        }
        12 => BType::None,
        13 => {
            let shape = shape(c)?;
            BType::Tensor { shape, element: c.ty()?, encoding: None }
        }
        14 => {
            let encoding = Some(c.attr()?);
            let shape = shape(c)?;
            BType::Tensor { shape, element: c.ty()?, encoding }
        }
        15 => BType::Tuple(c.tys()?),
        16 => BType::UnrankedMemRef { element: c.ty()?, space: None },
        17 => {
            let space = Some(c.attr()?);
            BType::UnrankedMemRef { element: c.ty()?, space }
        }
        18 => BType::UnrankedTensor(c.ty()?),
        19 => {
            let shape = shape(c)?;
            BType::Vector { shape, scalable: Vec::new(), element: c.ty()? }
        }
        20 => {
            let scalable = c.list("flags", DialectCursor::bool)?;
            let shape = shape(c)?;
            BType::Vector { shape, scalable, element: c.ty()? }
        }
        code => return c.unknown("a builtin type (0 to 32)", code),
    })
}

/// Returns the integer width of a type, for dialects whose encoding of numbers includes the type.
pub(super) fn int_width(c: &DialectCursor<'_, '_>, ty: TypeRef) -> Option<u32> {
    match *c.type_at(ty) {
        BType::Int { width, .. } => Some(width),
        BType::Index => Some(64),
        _ => None,
    }
}

/// Returns the width of a float type, for dialects whose encoding of numbers includes the type.
pub(super) fn float_width_at(c: &DialectCursor<'_, '_>, ty: TypeRef) -> Option<u32> {
    float_width(c.type_at(ty))
}
