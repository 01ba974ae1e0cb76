//! Terms: tensors as functions of indices, each stored once.
//!
//! A [`Node`] is an operation on arguments. Each argument is a term with an index for each of its dimensions, which is a list of variables
//! of the node, from major to minor. The result has a dimension for each batch variable, then the dimensions that the operation adds.
//! Transposes, broadcasts and reshapes are not nodes: they only change indices. Dimensions of size 1 do not exist.
//!
//! A [`View`] is a term with an index for each dimension that consists of digits of positions in slots. It is what a value of a program is:
//! a function of the position in each dimension and of the device.

mod build;
mod digits;

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use shardc_ir::{BinaryOp, CompareDirection, DType, DTypeClass, ReductionKind, UnaryOp};
use smallvec::SmallVec;

pub(crate) use self::digits::{Digit, Digits, chain, count, push, replace};

/// The slot of the device number. Dimensions of values are slots with lower numbers.
pub(crate) const DEVICE: u32 = 1 << 10;
/// The first slot of dimensions that an operation computes along; dimension `k` is slot `CORE + k`.
pub(crate) const CORE: u32 = 1 << 11;
/// The slot of the position in a unit of a slice or concatenation.
pub(crate) const MINOR: u32 = CORE - 1;
/// The number of the unknown value of padding, which may differ at each position and at each use.
pub(crate) const ARBITRARY: u32 = 0;
/// The first slot that is created while a term is built.
pub(crate) const FRESH: u32 = 1 << 12;

/// A term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TermId(pub(crate) u32);

/// The elements of a term. Arithmetic is exact, so that all float types are one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Real numbers.
    Real,
    /// Complex numbers.
    Complex,
    /// Integers modulo a power of two.
    Integer(DType),
    /// Truth values.
    Bool,
}

impl Kind {
    pub(crate) fn of(dtype: DType) -> Kind {
        match dtype {
            DType::I1 => Kind::Bool,
            DType::C64 | DType::C128 => Kind::Complex,
            _ if dtype.is_float() => Kind::Real,
            _ => Kind::Integer(dtype),
        }
    }
}

/// An operation on elements at the same position.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Map {
    Unary(UnaryOp),
    Binary(BinaryOp),
    /// Arguments: predicate, value if true, value if false.
    Select,
    /// Arguments: value, least and greatest result.
    Clamp,
    Compare(CompareDirection),
    /// Whether an integer or a sum of integers is zero.
    IsZero,
    /// One if true, else zero.
    Indicator,
    /// The multiplicative inverse.
    Inverse,
    /// A conversion to the kind of the node.
    Convert,
    /// Any other operation; the text has its attributes.
    Other(Arc<str>),
}

/// The operation of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Op {
    /// A parameter of the program.
    Param(u32),
    /// A value about which nothing is known.
    Unknown(u32),
    /// A carried value of the loop at this depth: depth and number.
    State([u32; 2]),
    /// A result of a loop, by number. Arguments: condition, and for each state its first and its next value.
    Loop(u32),
    /// A scalar: an integer, or the bits of an `f64`.
    Literal(i64),
    /// The elements of a constant.
    Constant(Arc<[u8]>),
    /// `base` plus the sum of the index in each dimension times its coefficient.
    Affine {
        base: i64,
        coefs: SmallVec<[i64; 4]>,
    },
    /// An associative and commutative operation on any number of arguments.
    Join(ReductionKind),
    Map(Map),
    /// A reduction over the reduced variables.
    Reduce(ReductionKind),
    /// A slice along the core slot of the argument, in units: size, start, limit and stride. The result has one dimension for the units and
    /// for the position in a unit.
    Slice([i64; 4]),
    /// A concatenation along the core slots of the arguments, with their sizes in units. The result has one dimension as for a slice.
    Concat(Vec<i64>),
    /// Operand 0 with operand 1 written at `start` along core slot 0 of both: start, size of the update, size of the operand.
    Update([i64; 3]),
    /// Windows along core slot 0 of argument 0: how many, their distance, their length, the position of the first one, the size of the argument.
    /// Positions that are not in the argument have argument 1. The result has a dimension for the window and one for the position in it.
    Windows([i64; 5]),
    /// A reduction by a region over core slot 0: the region, the number of the result, the number of positions. Arguments: the inputs and the
    /// initial values.
    Fold(Arc<str>, u32, u64),
    /// An operation that computes along the core slots of its arguments; the text has its attributes and the sizes of these slots.
    Core(Arc<str>),
}

/// The role of a variable of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum VarRole {
    /// A dimension of the result.
    Batch,
    /// Bound by the reduction.
    Reduced,
    /// A digit of the position along core slot `slot`, with this stride.
    Core { slot: u32, stride: u64 },
    /// A digit of the position in a unit, with this stride.
    Minor { stride: u64 },
}

/// A variable of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Var {
    pub(crate) size: u64,
    pub(crate) role: VarRole,
}

/// The index of an argument in one of its dimensions: variables from major to minor.
pub(crate) type Vars = SmallVec<[u16; 2]>;

/// An argument of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Arg {
    pub(crate) term: TermId,
    pub(crate) index: SmallVec<[Vars; 3]>,
}

/// An operation on arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) kind: Kind,
    pub(crate) args: SmallVec<[Arg; 2]>,
    pub(crate) vars: SmallVec<[Var; 4]>,
    /// The sizes of the dimensions of the result.
    pub(crate) dims: SmallVec<[u64; 4]>,
}

/// A term whose index in each dimension is a number with digits of slots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) term: TermId,
    pub(crate) index: SmallVec<[Digits; 3]>,
}

impl View {
    /// The digits of all indices.
    pub(crate) fn digits(&self) -> impl Iterator<Item = Digit> {
        self.index.iter().flatten().copied()
    }

    /// Whether the value depends on the position in a slot.
    pub(crate) fn uses(&self, slot: u32) -> bool {
        self.digits().any(|digit| digit.slot == slot)
    }

    /// Replaces positions: the position in a slot is the number that `number` returns, if any.
    pub(crate) fn moved<'a>(&self, number: impl Fn(u32) -> Option<&'a [Digit]>) -> Option<View> {
        let mut index = SmallVec::with_capacity(self.index.len());
        for old in &self.index {
            let mut new = Digits::new();
            for &digit in old {
                match number(digit.slot) {
                    Some(number) => replace(digit, number, &mut new)?,
                    None => push(&mut new, digit),
                }
            }
            index.push(new);
        }
        Some(View { term: self.term, index })
    }

    /// Renames slots.
    pub(crate) fn renamed(&self, slot: impl Fn(u32) -> u32) -> View {
        let mut view = self.clone();
        for digit in view.index.iter_mut().flatten() {
            digit.slot = slot(digit.slot);
        }
        for number in &mut view.index {
            let old = std::mem::take(number);
            old.into_iter().for_each(|digit| push(number, digit));
        }
        view
    }
}

/// An integer modulo the number of values of its type.
fn wrapped(dtype: DType, value: i64) -> i64 {
    let unused = 64 - dtype.bits().clamp(1, 64);
    match dtype.class() {
        DTypeClass::Unsigned => (((value as u64) << unused) >> unused) as i64,
        _ => (value << unused) >> unused,
    }
}

/// The most rewrites inside of each other.
const DEEPEST: u32 = 128;

/// All terms, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    nodes: IndexSet<Node, FxBuildHasher>,
    slots: u32,
    unknown: u32,
    /// The number of slices of pieces that are being built.
    pub(crate) nesting: u32,
    /// The number of reductions, combinations and concatenations that are being built.
    rewrites: u32,
    /// Whether any value has arbitrary elements.
    pub(crate) has_padding: bool,
    /// The number of terms of the original, after it is evaluated.
    pub(crate) originals: usize,
}

impl Terms {
    /// The number of terms.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, term: TermId) -> &Node {
        &self.nodes[term.0 as usize]
    }

    pub(crate) fn kind(&self, view: &View) -> Kind {
        self.node(view.term).kind
    }

    /// Applies rewrites that apply others to arguments; `None` if too many are nested, as in the values of a loop that does not end.
    pub(crate) fn nested<T>(&mut self, apply: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.rewrites >= DEEPEST {
            return None;
        }
        self.rewrites += 1;
        let result = apply(self);
        self.rewrites -= 1;
        result
    }

    /// Returns a slot that no value has.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.slots += 1;
        FRESH + self.slots
    }

    pub(crate) fn intern(&mut self, node: Node) -> TermId {
        TermId(self.nodes.insert_full(node).0 as u32)
    }

    /// A term without arguments, indexed by `index`.
    pub(crate) fn leaf(&mut self, op: Op, kind: Kind, index: impl IntoIterator<Item = Digits>) -> View {
        let index: SmallVec<[Digits; 3]> = index.into_iter().filter(|number| !number.is_empty()).collect();
        let dims = index.iter().map(|number| count(number)).collect();
        let term = self.intern(Node { op, kind, args: SmallVec::new(), vars: SmallVec::new(), dims });
        View { term, index }
    }

    /// A value about which nothing is known; it differs from all others.
    pub(crate) fn unknown(&mut self, kind: Kind, index: impl IntoIterator<Item = Digits>) -> View {
        self.unknown += 1;
        self.leaf(Op::Unknown(self.unknown), kind, index)
    }

    /// An integer scalar.
    pub(crate) fn integer(&mut self, kind: Kind, value: i64) -> View {
        match kind {
            Kind::Real | Kind::Complex => self.real(kind, value as f64),
            Kind::Integer(dtype) => self.leaf(Op::Literal(wrapped(dtype, value)), kind, []),
            Kind::Bool => self.leaf(Op::Literal(value & 1), kind, []),
        }
    }

    /// A real scalar.
    pub(crate) fn real(&mut self, kind: Kind, value: f64) -> View {
        // Both zeros are equal in exact arithmetic, and all NaNs are one element.
        let value = if value == 0.0 {
            0.0
        } else if value.is_nan() {
            f64::NAN
        } else {
            value
        };
        self.leaf(Op::Literal(value.to_bits() as i64), kind, [])
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, value: bool) -> View {
        self.leaf(Op::Literal(i64::from(value)), Kind::Bool, [])
    }

    /// The value of a scalar literal, if it is an integer of at most 2^40.
    pub(crate) fn as_integer(&self, view: &View) -> Option<i64> {
        let node = self.node(view.term);
        let Op::Literal(bits) = node.op else { return None };
        match node.kind {
            // A negative word is an integer above the greatest `i64`.
            Kind::Integer(dtype) if dtype.class() == DTypeClass::Unsigned && bits < 0 => None,
            Kind::Integer(_) | Kind::Bool => Some(bits),
            Kind::Real | Kind::Complex => {
                let value = f64::from_bits(bits as u64);
                (value.fract() == 0.0 && value.abs() <= (1u64 << 40) as f64).then_some(value as i64)
            }
        }
    }

    /// Whether the view is a scalar literal.
    pub(crate) fn is_literal(&self, view: &View) -> bool {
        matches!(self.node(view.term).op, Op::Literal(_))
    }

    /// Whether a term depends on a value about which nothing is known.
    pub(crate) fn has_unknown(&self, term: TermId) -> bool {
        self.depends(term, |op| matches!(op, Op::Unknown(_)))
    }

    /// Whether a term depends on a parameter.
    pub(crate) fn has_param(&self, term: TermId) -> bool {
        self.depends(term, |op| matches!(op, Op::Param(_)))
    }

    fn depends(&self, term: TermId, test: impl Fn(&Op) -> bool) -> bool {
        let mut seen = vec![false; self.len()];
        let mut stack = vec![term];
        while let Some(term) = stack.pop() {
            if std::mem::replace(&mut seen[term.0 as usize], true) {
                continue;
            }
            let node = self.node(term);
            if test(&node.op) {
                return true;
            }
            stack.extend(node.args.iter().map(|arg| arg.term));
        }
        false
    }

    /// Argument `arg` of the node of a view, as a function of the slots of the view. Reduced and core variables become digits of the slots
    /// that `bound` gives for each variable.
    pub(crate) fn argument(&self, view: &View, arg: usize, bound: &[Option<Digits>]) -> Option<View> {
        let node = self.node(view.term);
        let arg = node.args.get(arg)?;
        let mut numbers: SmallVec<[&[Digit]; 8]> = SmallVec::new();
        let mut batch = view.index.iter();
        for (at, var) in node.vars.iter().enumerate() {
            numbers.push(match var.role {
                VarRole::Batch => batch.next()?,
                VarRole::Reduced | VarRole::Core { .. } | VarRole::Minor { .. } => bound.get(at)?.as_ref()?,
            });
        }
        let mut index = SmallVec::with_capacity(arg.index.len());
        for vars in &arg.index {
            let mut number = Digits::new();
            for &var in vars {
                numbers.get(usize::from(var))?.iter().for_each(|&digit| push(&mut number, digit));
            }
            index.push(number);
        }
        Some(View { term: arg.term, index })
    }

    /// The arguments of the node of a view without reduced and core variables.
    pub(crate) fn arguments(&self, view: &View) -> Option<Vec<View>> {
        (0..self.node(view.term).args.len()).map(|at| self.argument(view, at, &[])).collect()
    }
}
