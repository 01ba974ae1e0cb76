//! Evaluates terms at positions.

use std::cell::Cell;

use shardc_ir::BinaryOp;

use super::numbers::{self, Element};
use super::{Positions, expression};
use crate::terms::{ARBITRARY, Digit, Kind, Map, Op, TermId, Terms, VarRole, View};

/// The value of a number with these digits.
pub(super) fn number(digits: &[Digit], at: &Positions) -> u64 {
    digits.iter().fold(0, |sum, digit| sum * digit.size + at[&digit.slot] / digit.stride % digit.size)
}

thread_local! {
    /// Whether an evaluation used an arbitrary element.
    static IS_ARBITRARY: Cell<bool> = const { Cell::new(false) };
}

impl Terms {
    /// The value of a view; `None` if it depends on an arbitrary element.
    pub(super) fn value(&self, view: &View, at: &Positions) -> Option<Element> {
        let index: Vec<u64> = view.index.iter().map(|digits| number(digits, at)).collect();
        IS_ARBITRARY.set(false);
        let value = self.at(view.term, &index);
        (!IS_ARBITRARY.get()).then_some(value)
    }

    /// The element of a term at an index.
    fn at(&self, term: TermId, index: &[u64]) -> Element {
        let node = self.node(term);
        assert!(
            node.dims.iter().zip(index).all(|(size, at)| at < size),
            "{index:?} is not in {:?}",
            node.dims
        );
        let batch = node.vars.iter().filter(|var| var.role == VarRole::Batch).count();
        let added = index.get(batch).copied().unwrap_or(0);
        let minors: u64 = node
            .vars
            .iter()
            .filter(|var| matches!(var.role, VarRole::Minor { .. }))
            .map(|var| var.size)
            .product();
        let (unit, minor) = (added / minors, added % minors);
        // The value of each variable; `core` is the position along core slots, and `reduced` that in all reduced variables.
        let vars = |core: u64, mut reduced: u64| -> Vec<u64> {
            let mut outer = index.iter();
            let value = node.vars.iter().map(|var| match var.role {
                VarRole::Batch => *outer.next().unwrap(),
                VarRole::Core { stride, .. } => core / stride % var.size,
                VarRole::Minor { stride } => minor / stride % var.size,
                VarRole::Reduced => {
                    let value = reduced % var.size;
                    reduced /= var.size;
                    value
                }
            });
            value.collect()
        };
        let arg = |at: usize, vars: &[u64]| {
            let arg = &node.args[at];
            let one = |list: &crate::terms::Vars| {
                list.iter()
                    .fold(0, |sum, &var| sum * node.vars[usize::from(var)].size + vars[usize::from(var)])
            };
            self.at(arg.term, &arg.index.iter().map(one).collect::<Vec<u64>>())
        };
        let args = || {
            let vars = vars(0, 0);
            (0..node.args.len()).map(|at| arg(at, &vars)).collect::<Vec<Element>>()
        };
        match &node.op {
            Op::Param(id) => expression::parameter(*id, node.kind, index),
            Op::Unknown(ARBITRARY) => {
                IS_ARBITRARY.set(true);
                0
            }
            Op::Literal(bits) => match node.kind {
                Kind::Real | Kind::Complex => numbers::real(f64::from_bits(*bits as u64)),
                _ => numbers::element(node.kind, i128::from(*bits)),
            },
            Op::Affine { base, coefs } => {
                let parts = coefs.iter().zip(index).map(|(&coef, &at)| i128::from(coef) * i128::from(at));
                numbers::element(node.kind, i128::from(*base) + parts.sum::<i128>())
            }
            Op::Join(join) => {
                args().into_iter().reduce(|a, b| numbers::join(*join, node.kind, a, b)).unwrap()
            }
            Op::Map(map) => self.mapped(map, term, &args()),
            Op::Reduce(join) => {
                let reduced = node.vars.iter().filter(|var| var.role == VarRole::Reduced).map(|var| var.size);
                let all = (0..reduced.product()).map(|at| arg(0, &vars(0, at)));
                all.reduce(|a, b| numbers::join(*join, node.kind, a, b)).unwrap()
            }
            Op::Slice([size, start, _, stride]) => {
                let at = *start as u64 + unit * *stride as u64;
                assert!(at < *size as u64);
                arg(0, &vars(at, 0))
            }
            Op::Concat(sizes) => {
                let (mut at, mut rest) = (0, unit);
                while rest >= sizes[at] as u64 {
                    rest -= sizes[at] as u64;
                    at += 1;
                }
                arg(at, &vars(rest, 0))
            }
            Op::Update([start, count, _]) => {
                let (start, end) = (*start as u64, (start + count) as u64);
                if (start..end).contains(&added) {
                    arg(1, &vars(added - start, 0))
                } else {
                    arg(0, &vars(added, 0))
                }
            }
            Op::Windows([_, step, _, start, size]) => {
                let (window, place) = (index[batch], index[batch + 1]);
                let at = start + window as i64 * step + place as i64;
                match (0..*size).contains(&at) {
                    true => arg(0, &vars(at as u64, 0)),
                    false => arg(1, &vars(0, 0)),
                }
            }
            op => panic!("{op:?} has no meaning here"),
        }
    }

    fn mapped(&self, map: &Map, term: TermId, args: &[Element]) -> Element {
        let node = self.node(term);
        let kind = node.kind;
        let from = self.node(node.args[0].term).kind;
        match (map, args) {
            (Map::Unary(op), &[x]) => numbers::unary(*op, kind, x),
            (Map::Binary(BinaryOp::Divide), &[x, y]) => expression::quotient(kind, x, y),
            (Map::Binary(BinaryOp::Remainder), &[x, y]) => expression::remainder(kind, x, y),
            (Map::Select, &[test, yes, no]) => {
                if test == 1 {
                    yes
                } else {
                    no
                }
            }
            (Map::Clamp, &[x, low, high]) => x.max(low).min(high),
            (Map::Compare(direction), &[x, y]) => Element::from(numbers::holds(*direction, x, y)),
            (Map::IsZero, &[x]) => Element::from(x == 0),
            (Map::Indicator, &[x]) => x,
            (Map::Inverse, &[x]) => numbers::inverse(x),
            (Map::Convert, &[x]) => numbers::convert(from, kind, x),
            // A conversion to truth values.
            (Map::Other(name), &[x, y]) if &**name == "compare total NE" => Element::from(x != y),
            (Map::Other(name), args) => numbers::function(name, kind, args),
            _ => panic!("{map:?} has no meaning here"),
        }
    }
}
