//! The encoding of the `stablehlo` dialect.

use super::attr::{BAttr, BType, Piece};
use super::dialect::{DialectCursor, DialectReader};
use crate::lexer::Res;

/// The row of the dialect.
pub(super) const DIALECT: DialectReader = DialectReader { name: "stablehlo", attr: read_attr, ty: read_type };

/// Directions of a comparison by number.
pub(super) const COMPARISONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];

/// Types of a comparison by number.
pub(super) const COMPARISON_TYPES: &[&str] = &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];

/// Precisions by number.
pub(super) const PRECISIONS: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];

/// Kinds of Fourier transforms by number.
pub(super) const FFT_TYPES: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];

/// Algorithms of random bits by number.
pub(super) const RNG_ALGORITHMS: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];

/// Distributions of random numbers by number; there is no 0.
pub(super) const RNG_DISTRIBUTIONS: &[&str] = &["", "UNIFORM", "NORMAL"];

/// Transpositions by number.
pub(super) const TRANSPOSES: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];

/// Modes of result accuracy by number.
pub(super) const ACCURACIES: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];

/// A word of an enumeration by its number.
pub(super) fn word(c: &mut DialectCursor<'_, '_>, words: &'static [&'static str]) -> Res<&'static str> {
    let place = c.cursor;
    let at = c.varint()?;
    match usize::try_from(at).ok().and_then(|at| words.get(at)) {
        Some(word) if !word.is_empty() => Ok(word),
        _ => {
            let known: Vec<_> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            Err(place.malformed(format!("expected the number of one of {}, found {at}", known.join(", "))))
        }
    }
}

fn enumeration<'b>(
    c: &mut DialectCursor<'_, 'b>,
    kind: &str,
    words: &'static [&'static str],
) -> Res<BAttr<'b>> {
    Ok(BAttr::text(format!("#stablehlo<{kind} {}>", word(c, words)?)))
}

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    Ok(match c.varint()? {
        1 => {
            let handle = c.svarint()?;
            let kind = c.svarint()?;
            BAttr::text(format!("#stablehlo.channel_handle<handle = {handle}, type = {kind}>"))
        }
        2 => enumeration(c, "comparison_direction", COMPARISONS)?,
        3 => enumeration(c, "comparison_type", COMPARISON_TYPES)?,
        8 => enumeration(c, "precision", PRECISIONS)?,
        code => return c.unknown("a stablehlo attribute (1 to 22)", code),
    })
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    Ok(match c.varint()? {
        0 => BType::text("!stablehlo.token"),
        1 => {
            let mut pieces = vec![Piece::Text("!stablehlo.future<".into())];
            for (at, ty) in c.tys()?.into_iter().enumerate() {
                if at > 0 {
                    pieces.push(Piece::Text(", ".into()));
                }
                pieces.push(Piece::Type(ty));
            }
            pieces.push(Piece::Text(">".into()));
            BType::Pieces(pieces)
        }
        code => return c.unknown("a stablehlo type (0 or 1)", code),
    })
}
