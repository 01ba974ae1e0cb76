//! Attributes of VHLO, decoded straight into what they are in builtin and StableHLO terms.
//!
//! Source: `stablehlo/dialect/VhloBytecode.cpp` and `VhloAttrs.td` of StableHLO. The codes never change: a newer
//! dialect adds codes.

use std::borrow::Cow;

use super::types::double;
use crate::bytecode::attr::{BAttr, BType, Piece, Sign};
use crate::bytecode::builtin;
use crate::bytecode::dialect::DialectCursor;
use crate::bytecode::stablehlo::{self, enumeration};
use crate::lexer::Res;

/// What stands before the mode where there are no tolerances.
pub(super) const NO_TOLERANCE: &str = "#stablehlo.result_accuracy<mode = ";
/// The mode of an operation that asks for no accuracy.
pub(super) const DEFAULT_ACCURACY: &str = "#stablehlo.result_accuracy_mode<DEFAULT>";
/// What stands before the mesh of replica groups that are given by axes.
pub(super) const MESH_AXES: &str = "#stablehlo.replica_group_mesh_axes<mesh = ";

/// A version of the interface of custom calls, which StableHLO gives by number.
fn api_version<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let place = cursor.cursor;
    match cursor.varint()? {
        number @ 0..=4 => Ok(BAttr::text(format!("{number} : i32"))),
        number => {
            let message = format!("expected a version of custom calls from 0 to 4, found {number}");
            Err(place.malformed(message))
        }
    }
}

fn text(out: &mut Vec<Piece<'_>>, text: impl Into<Cow<'static, str>>) {
    out.push(Piece::Text(text.into()));
}

/// Reads an attribute.
pub(super) fn read<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let place = cursor.cursor;
    Ok(match cursor.varint()? {
        1 => BAttr::Array(cursor.attrs()?),
        2 => {
            let place = cursor.cursor;
            match cursor.varint()? {
                0 => BAttr::text("false"),
                1 => BAttr::text("true"),
                other => return Err(place.malformed(format!("expected 0 or 1, found {other}"))),
            }
        }
        3 => enumeration(cursor, "comparison_direction", stablehlo::COMPARISONS)?,
        4 => enumeration(cursor, "comparison_type", stablehlo::COMPARISON_TYPES)?,
        5 => api_version(cursor)?,
        6 => BAttr::Dict(cursor.list("entries", |c| Ok((c.attr()?, c.attr()?)))?),
        7 => enumeration(cursor, "fft_type", stablehlo::FFT_TYPES)?,
        8 => {
            let place = cursor.cursor;
            let ty = cursor.ty()?;
            let Some(width) = builtin::float_width_at(cursor, ty) else {
                return Err(place.malformed("expected the type of a float"));
            };
            BAttr::Float { ty, words: cursor.words(width)? }
        }
        9 => {
            let place = cursor.cursor;
            let ty = cursor.ty()?;
            let width = match *cursor.type_at(ty) {
                BType::Int { width, sign: Sign::Signless | Sign::Unsigned } => width,
                BType::Index => 64,
                _ => return Err(place.malformed("expected the type of an integer")),
            };
            BAttr::Int { ty, words: cursor.words(width)? }
        }
        10 => {
            let (outputs, operand, operands) = (cursor.svarints()?, cursor.svarint()?, cursor.svarints()?);
            BAttr::text(stablehlo::output_operand_alias(&outputs, operand, &operands))
        }
        11 => enumeration(cursor, "precision", stablehlo::PRECISIONS)?,
        12 => enumeration(cursor, "rng_algorithm", stablehlo::RNG_ALGORITHMS)?,
        13 => enumeration(cursor, "rng_distribution", stablehlo::RNG_DISTRIBUTIONS)?,
        14 => BAttr::string(cursor.string()?),
        15 => BAttr::Dense { ty: cursor.ty()?, bytes: Cow::Borrowed(cursor.blob()?) },
        16 => enumeration(cursor, "transpose", stablehlo::TRANSPOSES)?,
        17 => BAttr::Type(cursor.ty()?),
        18 => BAttr::text(stablehlo::bounds(&cursor.svarints()?)),
        19 => BAttr::text(stablehlo::accuracy_mode(stablehlo::word(cursor, stablehlo::ACCURACIES)?)),
        20 => accuracy(cursor)?,
        21 => {
            // Stands inside a reference to an axis alone, without the name of the attribute.
            let (before, size) = (cursor.svarint()?, cursor.svarint()?);
            BAttr::text(format!("({before}){size}"))
        }
        22 => {
            let mut out = Vec::new();
            text(&mut out, "#stablehlo.axis_ref<name = ");
            out.push(Piece::Attr(cursor.attr()?));
            if cursor.varint()? != 0 {
                text(&mut out, ", sub_axis_info = ");
                out.push(Piece::Attr(cursor.attr()?));
            }
            text(&mut out, ">");
            BAttr::Pieces(out)
        }
        23 => {
            let mut out = Vec::new();
            text(&mut out, MESH_AXES);
            out.push(Piece::Attr(cursor.attr()?));
            text(&mut out, ", axes = ");
            out.push(Piece::Attr(cursor.attr()?));
            text(&mut out, ">");
            BAttr::Pieces(out)
        }
        24 => {
            // Stands inside a mesh alone, without the name of the attribute.
            let name = cursor.attr()?;
            let size = cursor.svarint()?;
            BAttr::Pieces(vec![
                Piece::Text("<name = ".into()),
                Piece::Attr(name),
                Piece::Text(format!(", size = {size}>").into()),
            ])
        }
        25 => {
            let mut out = Vec::new();
            text(&mut out, "#stablehlo.mesh<axes=");
            out.push(Piece::Attr(cursor.attr()?));
            if let Some(devices) = cursor.opt_attr()? {
                text(&mut out, ", device_ids=");
                out.push(Piece::Attr(devices));
            }
            text(&mut out, ">");
            BAttr::Pieces(out)
        }
        code => return Err(super::newer(&place, "attribute", code)),
    })
}

/// `#stablehlo.result_accuracy<atol = 1.0e-05, ulps = 1, mode = ...>`: what is zero is not written.
fn accuracy<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let (atol, rtol) = (double(cursor)?, double(cursor)?);
    let ulps = cursor.svarint()?;
    let mut head = String::from("#stablehlo.result_accuracy<");
    stablehlo::push_tolerances(&mut head, atol, rtol, ulps);
    head.push_str("mode = ");
    Ok(BAttr::Pieces(vec![Piece::Text(head.into()), Piece::Attr(cursor.attr()?), Piece::Text(">".into())]))
}
