//! Selections by one digit of a position, as concatenations along the digit.

use shardc_ir::{CompareDirection, UnaryOp};

use super::Range;
use crate::terms::{Digit, Digits, Kind, Map, Op, Terms, View, push};

impl Terms {
    /// `select(test, a, b)` as a concatenation of parts of `a` and `b`, if the test compares one digit with a constant.
    pub(super) fn by_digit(&mut self, kind: Kind, test: &View, a: &View, b: &View) -> Option<View> {
        let node = self.node(test.term);
        if node.op == Op::Map(Map::Unary(UnaryOp::Not)) {
            let test = self.arguments(test)?.pop()?;
            return self.by_digit(kind, &test, b, a);
        }
        let (digit, low, high) = self.range_of(test)?;
        let own = self.fresh();
        let views: Option<Vec<View>> = [a, b].into_iter().map(|view| with_digit(view, digit, own)).collect();
        let [a, b] = views?.try_into().ok()?;
        let parts = [(&b, 0, low), (&a, low, high), (&b, high, digit.size)];
        let (mut list, mut lengths) = (Vec::new(), Vec::new());
        for (view, start, limit) in parts.into_iter().filter(|(_, start, limit)| start < limit) {
            list.push(self.slice(view, own, Range::new(digit.size, start, limit))?);
            lengths.push(limit - start);
        }
        let joined = self.concatenate(kind, own, &list, &lengths)?;
        let mut number = Digits::new();
        push(&mut number, digit);
        joined.moved(|slot| (slot == own).then_some(&number[..]))
    }

    /// The digit that a test compares with a constant, and the range of values for which it holds.
    pub(super) fn range_of(&self, test: &View) -> Option<(Digit, u64, u64)> {
        let value = self.as_linear(self.arguments(test)?.first()?)?;
        let &[(coef, digit)] = value.parts.as_slice() else { return None };
        let size = i64::try_from(digit.size).ok()?;
        let (low, high) = match &self.node(test.term).op {
            Op::Map(Map::IsZero) if value.base % coef == 0 => {
                let at = -value.base / coef;
                (at, at + 1)
            }
            Op::Map(Map::Compare(CompareDirection::GE)) if self.is_zero(test, 1) => {
                // The first value from which a growing function is not negative, or the last one of a falling function.
                if coef > 0 {
                    (-(value.base.div_euclid(coef)), size)
                } else {
                    (0, value.base.div_euclid(-coef) + 1)
                }
            }
            _ => return None,
        };
        (low >= 0 && low < high && high <= size).then_some((digit, low as u64, high as u64))
    }

    /// Whether an argument is the literal zero.
    fn is_zero(&self, view: &View, arg: usize) -> bool {
        self.arguments(view).and_then(|args| self.as_integer(args.get(arg)?)) == Some(0)
    }
}

/// A view as a function of a slot that replaces a digit.
fn with_digit(view: &View, digit: Digit, own: u32) -> Option<View> {
    let most = view.digits().filter(|other| other.slot == digit.slot).map(Digit::end).max().unwrap_or(1);
    let mut number = Digits::new();
    if most > digit.end() {
        push(&mut number, Digit { slot: digit.slot, stride: digit.end(), size: most / digit.end() });
    }
    push(&mut number, Digit::all(own, digit.size));
    push(&mut number, Digit { slot: digit.slot, stride: 1, size: digit.stride });
    view.moved(|slot| (slot == digit.slot).then_some(&number[..]))
}
