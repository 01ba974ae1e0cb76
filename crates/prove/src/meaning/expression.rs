//! Expressions that are evaluated as they are written.

use std::rc::Rc;

use shardc_ir::{CompareDirection, ReductionKind, UnaryOp};

use super::Positions;
use super::numbers::{self, Element};
use super::terms::number;
use crate::algebra::{Linear, Range};
use crate::terms::{Digits, Kind};

/// A function of positions in slots.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Param(u32, Kind, Vec<Digits>),
    Integer(Kind, i64),
    /// Padding: any value, which differs between positions and between numbers.
    Arbitrary(u64, Kind),
    Real(f64),
    Affine(Kind, Linear),
    Join(ReductionKind, Kind, Vec<Rc<Expr>>),
    Unary(UnaryOp, Kind, Rc<Expr>),
    /// `x - y` or `x / y` or `x % y`.
    Subtract(Kind, Rc<Expr>, Rc<Expr>),
    Divide(Kind, Rc<Expr>, Rc<Expr>),
    Remainder(Kind, Rc<Expr>, Rc<Expr>),
    Compare(CompareDirection, Rc<Expr>, Rc<Expr>),
    Select(Rc<Expr>, Rc<Expr>, Rc<Expr>),
    Clamp(Rc<Expr>, i64, i64),
    Convert(Kind, Kind, Rc<Expr>),
    Other(Kind, Rc<Expr>),
    /// A reduction over a slot of this size.
    Reduce(ReductionKind, Kind, u32, u64, Rc<Expr>),
    Slice(u32, Range, Rc<Expr>),
    /// A slice at an affine start.
    From(u32, Linear, Rc<Expr>),
    Concat(u32, Vec<(Rc<Expr>, u64)>),
    /// The second written into the first along a slot: start and count.
    Update(u32, Rc<Expr>, Rc<Expr>, u64, u64),
    /// The windows along a slot: the start of a window is an affine function, and positions that are not in the first expression, which has this
    /// size, have the second one.
    Windows(u32, Linear, u64, Rc<Expr>, Rc<Expr>),
}

/// An element of a parameter.
pub(super) fn parameter(id: u32, kind: Kind, index: &[u64]) -> Element {
    numbers::random(kind, numbers::hash([u64::from(id)].into_iter().chain(index.iter().copied())))
}

pub(super) fn quotient(kind: Kind, x: Element, y: Element) -> Element {
    match kind {
        Kind::Real => numbers::element(kind, x * numbers::inverse(y)),
        _ if y == 0 => numbers::function("divide", kind, &[x]),
        _ => numbers::element(kind, x / y),
    }
}

pub(super) fn remainder(kind: Kind, x: Element, y: Element) -> Element {
    if y == 0 { numbers::function("remainder", kind, &[x]) } else { numbers::element(kind, x % y) }
}

/// The value of an affine function.
pub(super) fn affine(linear: &Linear, at: &Positions) -> i128 {
    let parts = linear.parts.iter().map(|&(coef, digit)| i128::from(coef) * i128::from(number(&[digit], at)));
    i128::from(linear.base) + parts.sum::<i128>()
}

fn with(at: &Positions, slot: u32, position: u64) -> Positions {
    let mut at = at.clone();
    at.insert(slot, position);
    at
}

impl Expr {
    /// The number of operations.
    pub(super) fn size(&self) -> usize {
        let inner: Vec<&Rc<Expr>> = match self {
            Expr::Param(..) | Expr::Integer(..) | Expr::Arbitrary(..) | Expr::Real(_) | Expr::Affine(..) => {
                vec![]
            }
            Expr::Join(_, _, args) => args.iter().collect(),
            Expr::Unary(_, _, x)
            | Expr::Clamp(x, ..)
            | Expr::Convert(_, _, x)
            | Expr::Other(_, x)
            | Expr::Reduce(_, _, _, _, x)
            | Expr::Slice(_, _, x)
            | Expr::From(_, _, x) => vec![x],
            Expr::Subtract(_, x, y)
            | Expr::Divide(_, x, y)
            | Expr::Remainder(_, x, y)
            | Expr::Compare(_, x, y)
            | Expr::Update(_, x, y, ..)
            | Expr::Windows(_, _, _, x, y) => vec![x, y],
            Expr::Select(x, y, z) => vec![x, y, z],
            Expr::Concat(_, args) => args.iter().map(|(arg, _)| arg).collect(),
        };
        1 + inner.into_iter().map(|expr| expr.size()).sum::<usize>()
    }

    pub(super) fn value(&self, at: &Positions) -> Element {
        match self {
            Expr::Param(id, kind, index) => {
                let index: Vec<u64> = index.iter().map(|digits| number(digits, at)).collect();
                parameter(*id, *kind, &index)
            }
            Expr::Integer(kind, value) => numbers::element(*kind, i128::from(*value)),
            Expr::Arbitrary(id, kind) => {
                let words = at.iter().flat_map(|(&slot, &position)| [u64::from(slot), position]);
                numbers::random(*kind, numbers::hash([*id].into_iter().chain(words)))
            }
            Expr::Real(value) => numbers::real(*value),
            Expr::Affine(kind, linear) => numbers::element(*kind, affine(linear, at)),
            Expr::Join(join, kind, args) => {
                let values = args.iter().map(|arg| arg.value(at));
                values.reduce(|a, b| numbers::join(*join, *kind, a, b)).unwrap()
            }
            Expr::Unary(op, kind, x) => numbers::unary(*op, *kind, x.value(at)),
            Expr::Subtract(kind, x, y) => numbers::element(*kind, x.value(at) - y.value(at)),
            Expr::Divide(kind, x, y) => quotient(*kind, x.value(at), y.value(at)),
            Expr::Remainder(kind, x, y) => remainder(*kind, x.value(at), y.value(at)),
            Expr::Compare(direction, x, y) => {
                Element::from(numbers::holds(*direction, x.value(at), y.value(at)))
            }
            Expr::Select(test, yes, no) => {
                if test.value(at) == 1 {
                    yes.value(at)
                } else {
                    no.value(at)
                }
            }
            Expr::Clamp(x, low, high) => x.value(at).max(i128::from(*low)).min(i128::from(*high)),
            Expr::Convert(from, to, x) => numbers::convert(*from, *to, x.value(at)),
            Expr::Other(kind, x) => numbers::function("other", *kind, &[x.value(at)]),
            Expr::Reduce(join, kind, slot, size, x) => {
                let values = (0..*size).map(|position| x.value(&with(at, *slot, position)));
                values.reduce(|a, b| numbers::join(*join, *kind, a, b)).unwrap()
            }
            Expr::Slice(slot, range, x) => x.value(&with(at, *slot, range.start + at[slot] * range.stride)),
            Expr::From(slot, start, x) => {
                let start = u64::try_from(affine(start, at)).unwrap();
                x.value(&with(at, *slot, start + at[slot]))
            }
            Expr::Concat(slot, args) => {
                let mut rest = at[slot];
                for (arg, size) in args {
                    if rest < *size {
                        return arg.value(&with(at, *slot, rest));
                    }
                    rest -= size;
                }
                panic!("the position is beyond the concatenation");
            }
            Expr::Update(slot, x, update, start, count) => match at[slot].checked_sub(*start) {
                Some(own) if own < *count => update.value(&with(at, *slot, own)),
                _ => x.value(at),
            },
            Expr::Windows(slot, start, size, x, fill) => {
                let position = affine(start, at) + i128::from(at[slot]);
                match u64::try_from(position).ok().filter(|position| position < size) {
                    Some(position) => x.value(&with(at, *slot, position)),
                    None => fill.value(at),
                }
            }
        }
    }
}
