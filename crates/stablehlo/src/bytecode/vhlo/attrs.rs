//! Attributes of VHLO, decoded directly to builtin and StableHLO attributes.
//!
//! Source: `stablehlo/dialect/VhloBytecode.cpp` and `VhloAttrs.td` of StableHLO. Codes never change: newer versions of
//! the dialect only add codes.

use std::borrow::Cow;

use super::types::double;
use crate::bytecode::attr::{BAttr, BType, Piece, Sign};
use crate::bytecode::builtin;
use crate::bytecode::dialect::DialectCursor;
use crate::bytecode::stablehlo::{self, enumeration};
use crate::lexer::Res;

/// The text of a result accuracy without tolerances, up to its mode.
pub(super) const NO_TOLERANCE: &str = "#stablehlo.result_accuracy<mode = ";
/// The default mode of result accuracy.
pub(super) const DEFAULT_ACCURACY: &str = "#stablehlo.result_accuracy_mode<DEFAULT>";
/// The text of replica groups that are given as axes of a mesh, up to the mesh.
pub(super) const MESH_AXES: &str = "#stablehlo.replica_group_mesh_axes<mesh = ";

/// Reads a version of the custom call API, which StableHLO writes as a number.
fn api_version<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let place = cursor.cursor;
    match cursor.varint()? {
        number @ 0..=4 => Ok(BAttr::text(format!("{number} : i32"))),
        number => {
            let message = format!("expected a custom call API version from 0 to 4, found {number}");
            Err(place.malformed(message))
        }
    }
}

fn text(out: &mut Vec<Piece<'_>>, text: impl Into<Cow<'static, str>>) {
    out.push(Piece::Text(text.into()));
}

/// Decodes an attribute.
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
                return Err(place.malformed("expected a float type"));
            };
            BAttr::Float { ty, words: cursor.words(width)? }
        }
        9 => {
            let place = cursor.cursor;
            let ty = cursor.ty()?;
            let width = match *cursor.type_at(ty) {
                BType::Int { width, sign: Sign::Signless | Sign::Unsigned } => width,
                BType::Index => 64,
                _ => return Err(place.malformed("expected an integer type")),
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
            // This attribute is only used inside an axis reference, where the name of the attribute is omitted.
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
            // This attribute is only used inside a mesh, where the name of the attribute is omitted.
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

/// Reads `#stablehlo.result_accuracy<atol = 1.0e-05, ulps = 1, mode = ...>`, without zero values.
fn accuracy<'b>(cursor: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let (atol, rtol) = (double(cursor)?, double(cursor)?);
    let ulps = cursor.svarint()?;
    let mut head = String::from("#stablehlo.result_accuracy<");
    stablehlo::push_tolerances(&mut head, atol, rtol, ulps);
    head.push_str("mode = ");
    Ok(BAttr::Pieces(vec![Piece::Text(head.into()), Piece::Attr(cursor.attr()?), Piece::Text(">".into())]))
}

#[cfg(test)]
mod tests {
    use shardc_ir::{Class, Diagnostic};

    use super::*;
    use crate::bytecode::attr::AttrRef;
    use crate::bytecode::reader::ByteCursor;
    use crate::lexer::Failure;

    /// Encodes numbers as variable-width integers of one byte.
    fn varints(numbers: &[u8]) -> Vec<u8> {
        numbers.iter().map(|n| n << 1 | 1).collect()
    }

    /// Decodes an attribute that takes all of the bytes.
    fn read_all(bytes: &[u8]) -> Result<BAttr<'_>, Diagnostic> {
        let mut cursor = DialectCursor {
            cursor: ByteCursor::new(bytes, 0),
            strings: &[b"x"],
            resources: &[],
            types: &[BType::Float("f32"), BType::Int { width: 32, sign: Sign::Signless }, BType::None],
            counts: (4, 3),
        };
        let attr = read(&mut cursor).and_then(|attr| cursor.cursor.end("the attribute").map(|()| attr));
        attr.map_err(|failure| match failure {
            Failure::Error(diagnostic) => *diagnostic,
            other => panic!("an error without words: {other:?}"),
        })
    }

    #[test]
    fn enumerations_have_stablehlo_names() {
        let words = [
            (&[3u8, 5][..], "#stablehlo<comparison_direction LT>"),
            (&[4, 0], "#stablehlo<comparison_type NOTYPE>"),
            (&[5, 4], "4 : i32"),
            (&[7, 3], "#stablehlo<fft_type IRFFT>"),
            (&[11, 2], "#stablehlo<precision HIGHEST>"),
            (&[12, 1], "#stablehlo<rng_algorithm THREE_FRY>"),
            (&[13, 1], "#stablehlo<rng_distribution UNIFORM>"),
            (&[16, 3], "#stablehlo<transpose ADJOINT>"),
            (&[19, 1], "#stablehlo.result_accuracy_mode<HIGHEST>"),
            (&[2, 1], "true"),
            // Signed integers in lists are zigzag encoded: 2 means 1, and 1 means -1.
            (&[18, 2, 2, 4], "#stablehlo.bounds<1, 2>"),
            (
                &[10, 1, 2, 4, 0],
                "#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 2, operand_tuple_indices = []>",
            ),
        ];
        for (numbers, text) in words {
            assert_eq!(read_all(&varints(numbers)), Ok(BAttr::text(text)), "{numbers:?}");
        }
        assert_eq!(read_all(&varints(&[1, 2, 3, 0])), Ok(BAttr::Array(vec![AttrRef(3), AttrRef(0)])));
        assert_eq!(read_all(&varints(&[14, 0])), Ok(BAttr::string(&b"x"[..])));
    }

    #[test]
    fn malformed_entries_are_errors() {
        let wrong: &[&[u8]] = &[
            &[3, 6],
            &[4, 5],
            &[5, 5],
            &[13, 0],
            &[19, 3],
            &[2, 2],
            // Indices of an attribute, a string and a type that do not exist.
            &[1, 1, 4],
            &[14, 1],
            &[17, 3],
            // A float with an integer type, and an integer with a float type.
            &[8, 1, 0],
            &[9, 0, 0],
            // A count larger than the remaining bytes.
            &[1, 60],
        ];
        for numbers in wrong {
            let error = read_all(&varints(numbers)).expect_err("an error");
            assert_eq!(error.class, Class::InvalidInput, "{numbers:?}: {error}");
        }
    }

    #[test]
    fn a_code_of_a_newer_version_is_unsupported() {
        let error = read_all(&varints(&[26])).expect_err("an error");
        assert_eq!(error.class, Class::Unsupported);
        assert_eq!(error.message, "at byte 0: `vhlo` has no attribute with the code 26 up to version 1.20.0");
    }
}
