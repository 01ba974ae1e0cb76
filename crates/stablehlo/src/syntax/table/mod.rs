//! The syntax table: one row per operation, with the data of [`shardc_ir`]'s table and the pieces of the pretty form.
//! The submodules list the pretty forms. An operation without a pretty form needs no entry here.

mod chlo;
mod devices;
pub(crate) mod kept;
mod sdy;
mod spellings;
mod stablehlo;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use shardc_ir::{Absent, AttrDef, AttrType, BinaryOp, BroadcastOp, OpDef, Presence, UnaryOp};

/// A piece of a pretty form. Parser and printer follow the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text. Spaces separate tokens and are printed unchanged.
    L(&'static str),
    /// The next operand.
    One,
    /// All remaining operands, separated by commas.
    All,
    /// The inherent attribute of this name.
    A(&'static str),
    /// Literal text and an attribute, both omitted if the attribute is absent.
    Opt(&'static str, &'static str),
    /// As [`Piece::Opt`], but also omitted if the attribute has the given boolean value.
    Unless(bool, &'static str, &'static str),
    /// A keyword attribute and a space, both omitted if the attribute is absent.
    Lead(&'static str),
    /// `({...}, {...})`, omitted if there are no regions.
    Regions,
    /// Discardable attributes.
    Dict,
    /// `T` if operands and results have the same type, else `(T, U) -> V`.
    Same,
    /// `(T, U) -> V`.
    Functional,
    /// The type of the only result.
    Result,
    /// The common type of all operands; there are no results.
    Operand,
    /// The types of the operands; there are no results.
    Operands,
    /// `P, T`: predicate, then operands and result; else `(P, T, U) -> V`.
    Select,
    /// The complex result type, from which the operand types are inferred.
    Complex,
    /// `T, U -> V`, with several results in parentheses.
    Arrow,
    /// The type of the result tuple, from which the operand types are inferred.
    Tuple,
    /// `[1:4, 0:8:2]` of a slice.
    Ranges,
    /// `batching_dims = [0] x [0], contracting_dims = [2] x [1]`.
    DotDims,
    /// `{stride = [1, 1], ...}` of a convolution.
    Window,
    /// `e8m7`.
    ExpMant,
    /// The types of the only operand and the only result, as in `T to U`.
    Cast,
}

impl Piece {
    /// Whether the piece writes the types of the operation.
    pub(crate) fn is_types(self) -> bool {
        match self {
            Piece::Same | Piece::Functional | Piece::Result | Piece::Operand | Piece::Operands => true,
            Piece::Select | Piece::Complex | Piece::Arrow | Piece::Tuple | Piece::Cast => true,
            Piece::L(_) | Piece::One | Piece::All | Piece::A(_) | Piece::Opt(..) | Piece::Unless(..) => false,
            Piece::Lead(_) | Piece::Regions | Piece::Dict | Piece::Ranges | Piece::DotDims => false,
            Piece::Window | Piece::ExpMant => false,
        }
    }
}

use Piece::{All, Arrow, Complex, Dict, Functional, L, One, Same};

/// How an operation's pretty form is parsed and printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pretty {
    /// No pretty form: MLIR prints the generic form.
    None,
    /// The form consists of these pieces.
    Pieces(&'static [Piece]),
    /// The form has dedicated code.
    Own(Own),
}

/// Operations whose pretty form has dedicated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Constant,
    Reduce,
    While,
    Call,
    Return,
    CustomCall,
    OptimizationBarrier,
    ManualComputation,
    NamedComputation,
    Scan,
}

/// An elementwise operation, whose kind is determined by its name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Elementwise {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Broadcast(BroadcastOp),
}

/// The syntax of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Full name, with dialect.
    pub(crate) name: &'static str,
    /// Inherent attributes.
    pub(crate) attrs: &'static [AttrDef],
    /// The pretty form.
    pub(crate) pretty: Pretty,
    /// The operation kind, if the operation is elementwise.
    pub(crate) elementwise: Option<Elementwise>,
    /// The words that MLIR uses as value names of the results, such as `values` and `indices`.
    pub(crate) result_names: &'static [&'static str],
}

impl Row {
    /// Returns the name and type of an inherent attribute that is in the operation's payload.
    pub(crate) fn attr(&self, name: &str) -> Option<(&'static str, AttrType)> {
        let attr = self.attrs.iter().find(|attr| attr.name == name)?;
        (attr.ty != AttrType::Carried).then_some((attr.name, attr.ty))
    }
}

pub(super) const SAME_1: &[Piece] = &[L(" "), One, Dict, L(" : "), Same];
pub(super) const SAME_2: &[Piece] = &[L(" "), One, L(", "), One, Dict, L(" : "), Same];
pub(super) const FUNCTIONAL: &[Piece] = &[L(" "), All, Dict, L(" : "), Functional];
pub(super) const ARROW: &[Piece] = &[L(" "), All, Dict, L(" : "), Arrow];

/// The name, inherent attributes and pretty form of an operation that has no operation kind.
type Spec = (&'static str, &'static [AttrDef], Pretty);

const fn need(name: &'static str, ty: AttrType) -> AttrDef {
    AttrDef { name, ty, presence: Presence::Required, since: 1 }
}

const fn may(name: &'static str, ty: AttrType) -> AttrDef {
    AttrDef { name, ty, presence: Presence::Optional(Absent::Never), since: 1 }
}

pub(super) const fn pieces(pieces: &'static [Piece]) -> Pretty {
    Pretty::Pieces(pieces)
}

/// The attribute with the original name of an operation that is parsed as a different operation. The operation is printed by that name.
pub(crate) use shardc_ir::SPELLING_ATTR as SPELLING;

/// Names of operations that are parsed as different operations: constants, and `dot` as `dot_general`.
pub(crate) const SPELLINGS: &[&str] = &[
    "sdy.constant",
    "chlo.constant",
    "arith.constant",
    "stablehlo.dot",
    "chlo.tan",
    "mhlo.acos",
    "mhlo.acosh",
    "mhlo.asin",
    "mhlo.asinh",
    "mhlo.atanh",
    "mhlo.cosh",
    "mhlo.erf",
    "mhlo.mulhi",
    "mhlo.sinh",
];

const RESULT_NAMES: &[(&str, &[&str])] = &[
    ("tensor.cast", &["cast"]),
    ("chlo.top_k", &["values", "indices"]),
    ("stablehlo.rng_bit_generator", &["output_state", "output"]),
    ("stablehlo.batch_norm_training", &["output", "batch_mean", "batch_var"]),
    ("stablehlo.batch_norm_grad", &["grad_operand", "grad_scale", "grad_offset"]),
];

/// Returns the pretty form of an elementwise operation.
fn elementwise_form(op: Elementwise, name: &str) -> &'static [Piece] {
    match op {
        Elementwise::Unary(UnaryOp::IsFinite) | Elementwise::Broadcast(_) => FUNCTIONAL,
        Elementwise::Binary(BinaryOp::Complex) => &[L(" "), All, Dict, L(" : "), Complex],
        _ if name.starts_with("chlo.") => ARROW,
        Elementwise::Unary(_) => SAME_1,
        Elementwise::Binary(_) => SAME_2,
    }
}

static TABLE: LazyLock<FxHashMap<&'static str, Row>> = LazyLock::new(|| {
    let mut table: FxHashMap<&'static str, Row> = FxHashMap::default();
    let mut add = |name: &'static str, attrs, pretty| {
        let result_names = RESULT_NAMES.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, names)| names);
        table.insert(name, Row { name, attrs, pretty, elementwise: None, result_names });
    };
    for def in OpDef::all().filter(|def| !def.name.is_empty()) {
        add(def.name, def.attrs, Pretty::None);
    }
    for &(name, attrs, pretty) in spellings::SPECS.iter().chain(kept::SPECS) {
        add(name, attrs, pretty);
    }
    let forms = [stablehlo::PRETTY, devices::PRETTY, chlo::PRETTY, sdy::PRETTY];
    for &(name, pretty) in forms.into_iter().flatten() {
        if let Some(row) = table.get_mut(name) {
            row.pretty = pretty;
        }
    }
    let unary = UnaryOp::ALL.iter().map(|&op| (op.name(), Elementwise::Unary(op)));
    let binary = BinaryOp::ALL.iter().map(|&op| (op.name(), Elementwise::Binary(op)));
    let broadcast = BroadcastOp::ALL.iter().map(|&op| (op.name(), Elementwise::Broadcast(op)));
    for (name, op) in unary.chain(binary).chain(broadcast) {
        if let Some(row) = table.get_mut(name) {
            row.pretty = Pretty::Pieces(elementwise_form(op, name));
            row.elementwise = Some(op);
        }
    }
    for name in SPELLINGS {
        let Some(short) = name.strip_prefix("mhlo.") else { continue };
        let chlo = format!("chlo.{short}");
        if let Some(row) = table.get_mut(name) {
            let unary = UnaryOp::parse(&chlo).map(Elementwise::Unary);
            row.elementwise = unary.or_else(|| BinaryOp::parse(&chlo).map(Elementwise::Binary));
        }
    }
    table
});

/// Returns the row of the operation with the full name `name`.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    TABLE.get(name)
}

/// Returns the names of all operations in the table, in no particular order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_forms_match_the_table() {
        for (name, pretty) in [stablehlo::PRETTY, devices::PRETTY, chlo::PRETTY, sdy::PRETTY].concat() {
            let row = row(name).unwrap_or_else(|| panic!("{name} is not in the table"));
            assert_eq!(row.pretty, pretty, "{name}");
            let Pretty::Pieces(pieces) = pretty else { continue };
            for piece in pieces {
                if let Piece::A(attr) | Piece::Opt(_, attr) | Piece::Unless(_, _, attr) | Piece::Lead(attr) =
                    piece
                {
                    assert!(row.attr(attr).is_some(), "{name}: {attr}");
                }
            }
        }
    }
}
