//! The encoding of the `stablehlo` dialect.

use std::fmt::Write as _;

use shardc_ir::{DType, DimList, floats};
use smallvec::SmallVec;

use super::attr::{BAttr, BType, Piece};
use super::dialect::{DialectCursor, DialectReader};
use crate::lexer::Res;
use crate::literals::tokens::{push_ints, push_list};
use crate::syntax::values::{ConvNumbers, push_conv, push_members};

/// The entry of this dialect in the dialect table.
pub(super) const DIALECT: DialectReader = DialectReader { name: "stablehlo", attr: read_attr, ty: read_type };

/// The directions of a comparison, indexed by their codes in bytecode.
pub(super) const COMPARISONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];

/// The types of a comparison, by code.
pub(super) const COMPARISON_TYPES: &[&str] = &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];

/// Precisions, by code.
pub(super) const PRECISIONS: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];

/// The kinds of Fourier transforms, by code.
pub(super) const FFT_TYPES: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];

/// The algorithms for random bits, by code.
pub(super) const RNG_ALGORITHMS: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];

/// The distributions of random numbers, by code; code 0 is invalid.
pub(super) const RNG_DISTRIBUTIONS: &[&str] = &["", "UNIFORM", "NORMAL"];

/// Transpositions, by code.
pub(super) const TRANSPOSES: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];

/// The modes of result accuracy, by code.
pub(super) const ACCURACIES: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];

/// Enumerations: the code of the attribute, its name and its cases.
pub(super) const ENUMERATIONS: &[(u64, &str, &[&str])] = &[
    (2, "comparison_direction", COMPARISONS),
    (3, "comparison_type", COMPARISON_TYPES),
    (6, "fft_type", FFT_TYPES),
    (8, "precision", PRECISIONS),
    (9, "rng_algorithm", RNG_ALGORITHMS),
    (10, "rng_distribution", RNG_DISTRIBUTIONS),
    (12, "transpose", TRANSPOSES),
];

/// An attribute of dimension numbers.
pub(super) struct Members {
    /// The code of the attribute.
    pub(super) code: u64,
    /// The name of the attribute.
    pub(super) kind: &'static str,
    /// The names of its lists, in the order of the bytecode.
    pub(super) lists: &'static [&'static str],
    /// The name of a single number after the lists.
    pub(super) index: Option<&'static str>,
}

/// The dimension numbers of `dot_general`.
pub(super) const DOT: Members = Members {
    code: 5,
    kind: "dot",
    lists: &[
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    ],
    index: None,
};

/// The dimension numbers of `gather`.
pub(super) const GATHER: Members = Members {
    code: 7,
    kind: "gather",
    lists: &[
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    ],
    index: Some("index_vector_dim"),
};

/// The dimension numbers of `scatter`.
pub(super) const SCATTER: Members = Members {
    code: 11,
    kind: "scatter",
    lists: &[
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    ],
    index: Some("index_vector_dim"),
};

/// Reads the code of an enumeration case, and returns its name.
pub(super) fn word(c: &mut DialectCursor<'_, '_>, words: &'static [&'static str]) -> Res<&'static str> {
    let place = c.cursor;
    let at = c.varint()?;
    match usize::try_from(at).ok().and_then(|at| words.get(at)) {
        Some(word) if !word.is_empty() => Ok(word),
        _ => {
            let known: Vec<_> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            Err(place.malformed(format!("expected the code of one of {}, found {at}", known.join(", "))))
        }
    }
}

/// Reads an enumeration, as text `#stablehlo<kind WORD>`.
pub(super) fn enumeration<'b>(
    c: &mut DialectCursor<'_, 'b>,
    kind: &str,
    words: &'static [&'static str],
) -> Res<BAttr<'b>> {
    Ok(BAttr::text(format!("#stablehlo<{kind} {}>", word(c, words)?)))
}

/// Reads a list of dimension numbers, preceded by its length.
fn dims(c: &mut DialectCursor<'_, '_>) -> Res<SmallVec<[u32; 4]>> {
    let count = c.cursor.count("dimension numbers")?;
    (0..count).map(|_| dim(c)).collect()
}

fn dim(c: &mut DialectCursor<'_, '_>) -> Res<u32> {
    let place = c.cursor;
    let value = c.svarint()?;
    u32::try_from(value).map_err(|_| {
        place.malformed(format!("expected a dimension number from 0 to 4294967295, found {value}"))
    })
}

/// Reads the two non-spatial dimensions of one tensor of a convolution (batch and feature, or input and output feature), then its spatial
/// dimensions.
fn conv_dims(c: &mut DialectCursor<'_, '_>) -> Res<([u32; 2], DimList)> {
    let named = [dim(c)?, dim(c)?];
    Ok((named, dims(c)?.into_iter().collect()))
}

/// Reads `#stablehlo.kind<name = [...], ..., index = 1>`: the lists, then the index.
fn members<'b>(c: &mut DialectCursor<'_, 'b>, members: &Members) -> Res<BAttr<'b>> {
    let names = members.lists;
    let lists = names.iter().map(|_| dims(c)).collect::<Res<Vec<_>>>()?;
    let named: Vec<(&str, &[u32])> = names.iter().copied().zip(lists.iter().map(|list| &list[..])).collect();
    let index = match members.index {
        Some(name) => Some((name, dim(c)?)),
        None => None,
    };
    let mut text = format!("#stablehlo.{}<", members.kind);
    push_members(&mut text, &named, index);
    text.push('>');
    Ok(BAttr::text(text))
}

fn read_attr<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let code = c.varint()?;
    if let Some((_, kind, words)) = ENUMERATIONS.iter().find(|(at, ..)| *at == code) {
        return enumeration(c, kind, words);
    }
    Ok(match code {
        1 => {
            let handle = c.svarint()?;
            let kind = c.svarint()?;
            BAttr::text(format!("#stablehlo.channel_handle<handle = {handle}, type = {kind}>"))
        }
        4 => {
            let all = [conv_dims(c)?, conv_dims(c)?, conv_dims(c)?];
            let mut text = String::from("#stablehlo.conv<");
            push_conv(&mut text, &ConvNumbers::new(all));
            text.push('>');
            BAttr::text(text)
        }
        5 => members(c, &DOT)?,
        7 => members(c, &GATHER)?,
        11 => members(c, &SCATTER)?,
        13 => BAttr::text(bounds(&c.svarints()?)),
        14 => {
            let outputs = c.svarints()?;
            let operand = c.svarint()?;
            BAttr::text(output_operand_alias(&outputs, operand, &c.svarints()?))
        }
        15 => {
            let types = [c.ty()?, c.ty()?, c.ty()?];
            let numbers = [c.svarint()?, c.svarint()?, c.svarint()?];
            dot_algorithm(types, numbers, c.bool()?)
        }
        16 => BAttr::text(accuracy_mode(word(c, ACCURACIES)?)),
        17 => result_accuracy(c)?,
        18 => replica_group_mesh_axes(c)?,
        19 => {
            let before = c.svarint()?;
            let body = vec![Piece::Text(format!("({before}){}", c.svarint()?).into())];
            BAttr::Nestable { head: "#stablehlo<sub_axis_info", body, tail: ">" }
        }
        20 => axis_ref(c)?,
        21 => {
            let mut pieces = vec![piece("#stablehlo.mesh_axis<name = "), Piece::Quoted(c.string()?)];
            pieces.push(Piece::Text(format!(", size = {}>", c.svarint()?).into()));
            BAttr::Pieces(pieces)
        }
        22 => mesh(c)?,
        code => return c.unknown("a stablehlo attribute (1 to 22)", code),
    })
}

fn piece<'b>(text: &str) -> Piece<'b> {
    Piece::Text(text.to_owned().into())
}

/// Reads `#stablehlo.result_accuracy<...>`.
fn result_accuracy<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let mut text = String::from("#stablehlo.result_accuracy<");
    let (atol, rtol) = (c.words(64)?, c.words(64)?);
    let ulps = c.svarint()?;
    push_tolerances(&mut text, atol[0], rtol[0], ulps);
    text.push_str("mode = ");
    Ok(BAttr::Pieces(vec![Piece::Text(text.into()), Piece::Attr(c.attr()?), piece(">")]))
}

/// Reads `#stablehlo.replica_group_mesh_axes<...>`.
fn replica_group_mesh_axes<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let mut pieces = vec![piece("#stablehlo.replica_group_mesh_axes<mesh = "), Piece::Attr(c.attr()?)];
    pieces.push(piece(", axes = ["));
    separated(&mut pieces, c.attrs()?.into_iter().map(Piece::Attr));
    pieces.push(piece("]>"));
    Ok(BAttr::Pieces(pieces))
}

/// Reads `#stablehlo.axis_ref<...>`.
fn axis_ref<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let mut pieces = vec![piece("#stablehlo.axis_ref<name = "), Piece::Quoted(c.string()?)];
    if c.bool()? {
        pieces.push(piece(", sub_axis_info = "));
        pieces.push(Piece::Nested(c.attr()?));
    }
    pieces.push(piece(">"));
    Ok(BAttr::Pieces(pieces))
}

/// Reads `#stablehlo.mesh<...>`.
fn mesh<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BAttr<'b>> {
    let mut pieces = vec![piece("#stablehlo.mesh<axes = "), Piece::Attr(c.attr()?)];
    if c.bool()? {
        pieces.push(piece(", device_ids = "));
        pieces.push(Piece::Attr(c.attr()?));
    }
    pieces.push(piece(">"));
    Ok(BAttr::Pieces(pieces))
}

/// Returns `#stablehlo.bounds<4, ?>`, the encoding attribute of a bounded type.
pub(super) fn bounds(sizes: &[i64]) -> String {
    let mut text = String::from("#stablehlo.bounds<");
    push_list(&mut text, sizes, |out, &size| match size {
        shardc_ir::DYNAMIC => out.push('?'),
        _ => {
            let _ = write!(out, "{size}");
        }
    });
    text.push('>');
    text
}

/// Returns `#stablehlo.output_operand_alias<...>`.
pub(super) fn output_operand_alias(outputs: &[i64], operand: i64, operands: &[i64]) -> String {
    let mut text = String::from("#stablehlo.output_operand_alias<output_tuple_indices = ");
    push_ints(&mut text, outputs);
    let _ = write!(text, ", operand_index = {operand}, operand_tuple_indices = ");
    push_ints(&mut text, operands);
    text.push('>');
    text
}

/// Returns `#stablehlo.dot_algorithm<...>`: types of left operand, right operand and accumulator; component counts of both operands; number
/// of operations.
pub(super) fn dot_algorithm<'b>(
    [lhs, rhs, sum]: [super::attr::TypeRef; 3],
    [lhs_count, rhs_count, operations]: [i64; 3],
    imprecise: bool,
) -> BAttr<'b> {
    let counts = format!(
        ", lhs_component_count = {lhs_count}, rhs_component_count = {rhs_count}, \
         num_primitive_operations = {operations}, allow_imprecise_accumulation = {imprecise}>"
    );
    BAttr::Pieces(vec![
        Piece::Text("#stablehlo.dot_algorithm<lhs_precision_type = ".into()),
        Piece::Type(lhs),
        Piece::Text(", rhs_precision_type = ".into()),
        Piece::Type(rhs),
        Piece::Text(", accumulation_type = ".into()),
        Piece::Type(sum),
        Piece::Text(counts.into()),
    ])
}

/// Returns `#stablehlo.result_accuracy_mode<HIGHEST>`.
pub(super) fn accuracy_mode(word: &str) -> String {
    format!("#stablehlo.result_accuracy_mode<{word}>")
}

/// Appends `atol = ..., rtol = ..., ulps = ..., `, without zero values.
pub(super) fn push_tolerances(out: &mut String, atol: u64, rtol: u64, ulps: i64) {
    for (name, bits) in [("atol", atol), ("rtol", rtol)] {
        if f64::from_bits(bits) != 0.0 {
            let _ = write!(out, "{name} = ");
            floats::push(out, DType::F64, bits);
            out.push_str(", ");
        }
    }
    if ulps != 0 {
        let _ = write!(out, "ulps = {ulps}, ");
    }
}

/// Appends pieces separated by commas.
pub(super) fn separated<'b>(out: &mut Vec<Piece<'b>>, items: impl IntoIterator<Item = Piece<'b>>) {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(Piece::Text(", ".into()));
        }
        out.push(item);
    }
}

fn read_type<'b>(c: &mut DialectCursor<'_, 'b>) -> Res<BType<'b>> {
    Ok(match c.varint()? {
        0 => BType::text("!stablehlo.token"),
        1 => {
            let mut pieces = vec![Piece::Text("!stablehlo.future<".into())];
            separated(&mut pieces, c.tys()?.into_iter().map(Piece::Type));
            pieces.push(Piece::Text(">".into()));
            BType::Pieces(pieces)
        }
        code => return c.unknown("a stablehlo type (0 or 1)", code),
    })
}
