//! Attributes of VHLO, decoded straight into what they are in builtin and StableHLO terms.
//!
//! Source: `stablehlo/dialect/VhloBytecode.cpp` and `VhloAttrs.td` of StableHLO. The codes never change: a newer
//! dialect adds codes.

use std::borrow::Cow;

use shardc_ir::DType;

use crate::bytecode::attr::{BAttr, BType, Piece, Sign};
use crate::bytecode::builtin;
use crate::bytecode::dialect::DialectCursor;
use crate::floats;
use crate::lexer::Res;

/// An enumeration: what its members are in StableHLO, by number. An empty text is no member.
struct Enumeration {
    what: &'static str,
    members: &'static [&'static str],
}

const DIRECTION: Enumeration = Enumeration {
    what: "a direction of comparison",
    members: &[
        "#stablehlo<comparison_direction EQ>",
        "#stablehlo<comparison_direction NE>",
        "#stablehlo<comparison_direction GE>",
        "#stablehlo<comparison_direction GT>",
        "#stablehlo<comparison_direction LE>",
        "#stablehlo<comparison_direction LT>",
    ],
};
const COMPARISON: Enumeration = Enumeration {
    what: "a type of comparison",
    members: &[
        "#stablehlo<comparison_type NOTYPE>",
        "#stablehlo<comparison_type FLOAT>",
        "#stablehlo<comparison_type TOTALORDER>",
        "#stablehlo<comparison_type SIGNED>",
        "#stablehlo<comparison_type UNSIGNED>",
    ],
};
const API_VERSION: Enumeration = Enumeration {
    what: "a version of the custom call interface",
    members: &["0 : i32", "1 : i32", "2 : i32", "3 : i32", "4 : i32"],
};
const FFT: Enumeration = Enumeration {
    what: "a kind of Fourier transform",
    members: &[
        "#stablehlo<fft_type FFT>",
        "#stablehlo<fft_type IFFT>",
        "#stablehlo<fft_type RFFT>",
        "#stablehlo<fft_type IRFFT>",
    ],
};
const PRECISION: Enumeration = Enumeration {
    what: "a precision",
    members: &[
        "#stablehlo<precision DEFAULT>",
        "#stablehlo<precision HIGH>",
        "#stablehlo<precision HIGHEST>",
    ],
};
const RNG_ALGORITHM: Enumeration = Enumeration {
    what: "an algorithm of random numbers",
    members: &[
        "#stablehlo<rng_algorithm DEFAULT>",
        "#stablehlo<rng_algorithm THREE_FRY>",
        "#stablehlo<rng_algorithm PHILOX>",
    ],
};
const RNG_DISTRIBUTION: Enumeration = Enumeration {
    what: "a distribution of random numbers",
    members: &["", "#stablehlo<rng_distribution UNIFORM>", "#stablehlo<rng_distribution NORMAL>"],
};
const TRANSPOSE: Enumeration = Enumeration {
    what: "a kind of transposition",
    members: &[
        "#stablehlo<transpose TRANSPOSE_INVALID>",
        "#stablehlo<transpose NO_TRANSPOSE>",
        "#stablehlo<transpose TRANSPOSE>",
        "#stablehlo<transpose ADJOINT>",
    ],
};
const ACCURACY: Enumeration = Enumeration {
    what: "a mode of accuracy",
    members: &[
        "#stablehlo.result_accuracy_mode<DEFAULT>",
        "#stablehlo.result_accuracy_mode<HIGHEST>",
        "#stablehlo.result_accuracy_mode<TOLERANCE>",
    ],
};

/// What stands before the mode where there are no tolerances.
pub(super) const NO_TOLERANCE: &str = "#stablehlo.result_accuracy<mode = ";
/// The mode of an operation that asks for no accuracy.
pub(super) const DEFAULT_ACCURACY: &str = "#stablehlo.result_accuracy_mode<DEFAULT>";
/// What stands before the mesh of replica groups that are given by axes.
pub(super) const MESH_AXES: &str = "#stablehlo.replica_group_mesh_axes<mesh = ";

fn member<'b>(cursor: &mut DialectCursor<'_, 'b>, of: &Enumeration) -> Res<BAttr<'b>> {
    let place = cursor.cursor;
    let number = cursor.varint()?;
    let text = usize::try_from(number).ok().and_then(|at| of.members.get(at));
    match text {
        Some(&text) if !text.is_empty() => Ok(BAttr::text(text)),
        _ => Err(place.malformed(format!("expected the number of {}, found {number}", of.what))),
    }
}

fn text(out: &mut Vec<Piece<'_>>, text: impl Into<Cow<'static, str>>) {
    out.push(Piece::Text(text.into()));
}

fn numbers(values: &[i64]) -> String {
    let items: Vec<String> = values.iter().map(i64::to_string).collect();
    format!("[{}]", items.join(", "))
}

/// `?` where a size is not bounded.
fn bounds(values: &[i64]) -> String {
    let bound = |&size: &i64| if size == shardc_ir::DYNAMIC { "?".to_owned() } else { size.to_string() };
    let items: Vec<String> = values.iter().map(bound).collect();
    format!("#stablehlo.bounds<{}>", items.join(", "))
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
        3 => member(cursor, &DIRECTION)?,
        4 => member(cursor, &COMPARISON)?,
        5 => member(cursor, &API_VERSION)?,
        6 => BAttr::Dict(cursor.list("entries", |c| Ok((c.attr()?, c.attr()?)))?),
        7 => member(cursor, &FFT)?,
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
            BAttr::text(format!(
                "#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {operand}, \
                 operand_tuple_indices = {}>",
                numbers(&outputs),
                numbers(&operands)
            ))
        }
        11 => member(cursor, &PRECISION)?,
        12 => member(cursor, &RNG_ALGORITHM)?,
        13 => member(cursor, &RNG_DISTRIBUTION)?,
        14 => BAttr::string(cursor.string()?),
        15 => BAttr::Dense { ty: cursor.ty()?, bytes: Cow::Borrowed(cursor.blob()?) },
        16 => member(cursor, &TRANSPOSE)?,
        17 => BAttr::Type(cursor.ty()?),
        18 => BAttr::text(bounds(&cursor.svarints()?)),
        19 => member(cursor, &ACCURACY)?,
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
    let float = |words: &[u64]| f64::from_bits(words.first().copied().unwrap_or(0));
    let atol = float(&cursor.words(64)?);
    let rtol = float(&cursor.words(64)?);
    let ulps = cursor.svarint()?;
    let mode = cursor.attr()?;
    let mut head = String::from("#stablehlo.result_accuracy<");
    for (name, value) in [("atol", atol), ("rtol", rtol)] {
        if value != 0.0 {
            head.push_str(name);
            head.push_str(" = ");
            floats::push(&mut head, DType::F64, value.to_bits());
            head.push_str(", ");
        }
    }
    if ulps != 0 {
        head.push_str(&format!("ulps = {ulps}, "));
    }
    head.push_str("mode = ");
    Ok(BAttr::Pieces(vec![Piece::Text(head.into()), Piece::Attr(mode), Piece::Text(">".into())]))
}
