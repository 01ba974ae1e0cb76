//! Random expressions, and the views that the constructors of terms return for them.

use std::rc::Rc;

use shardc_ir::{BinaryOp, CompareDirection, DType, ReductionKind, UnaryOp};

use super::expression::Expr;
use super::{Positions, numbers};
use crate::algebra::{Linear, Range, Windows};
use crate::terms::{DEVICE, Digit, Digits, Kind, Terms, View, count, push};

const REAL: Kind = Kind::Real;
const KINDS: [Kind; 6] =
    [REAL, REAL, Kind::Integer(DType::I32), Kind::Integer(DType::I8), Kind::Integer(DType::UI8), Kind::Bool];
/// The slots of the results, and their sizes.
pub(super) const SLOTS: [(u32, u64); 3] = [(0, 12), (1, 8), (DEVICE, 6)];

type Slots = Vec<(u32, u64)>;
type Pair = (Rc<Expr>, View);

/// A source of random expressions.
pub(super) struct Random {
    state: u64,
    pub(super) terms: Terms,
}

fn divisors(size: u64) -> Vec<u64> {
    (1..=size).filter(|&part| size.is_multiple_of(part)).collect()
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut terms = Terms::default();
        // Each third seed: blocks have padding. Each second seed: concatenations are those of a partitioned program.
        terms.has_padding = seed.is_multiple_of(3);
        terms.originals = usize::from(seed.is_multiple_of(2));
        Random { state: numbers::hash([seed]), terms }
    }

    fn word(&mut self) -> u64 {
        self.state = numbers::hash([self.state, 1]);
        self.state >> 8
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }

    pub(super) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// Random positions in the slots of the results.
    pub(super) fn positions(&mut self) -> Positions {
        SLOTS.iter().map(|&(slot, size)| (slot, self.below(size))).collect()
    }

    /// A random expression, and its view.
    pub(super) fn expression(&mut self, depth: usize) -> (Rc<Expr>, View) {
        let kind = self.one_of(&KINDS);
        self.of_kind(kind, depth, &SLOTS.to_vec())
    }

    fn of_kind(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Pair {
        if depth > 0 {
            for _ in 0..8 {
                if let Some(pair) = self.operation(kind, depth - 1, slots) {
                    return pair;
                }
            }
        }
        self.leaf(kind, slots)
    }

    fn digit(&mut self, slots: &Slots) -> Digit {
        let (slot, size) = self.one_of(slots);
        let stride = self.below(2) * self.below(size);
        let stride = *divisors(size).iter().rfind(|&&part| part <= stride.max(1)).unwrap();
        let size = self.one_of(&divisors(size / stride));
        Digit { slot, stride, size }
    }

    pub(super) fn linear(&mut self, slots: &Slots) -> Linear {
        let mut linear = Linear::constant(self.below(9) as i64 - 4);
        for _ in 0..self.below(4) {
            let digit = self.digit(slots);
            let coef = self.one_of(&[1, 1, 1, 2, 3, 4, 6, 12, -1, -2, 8]);
            linear.parts.push((coef, digit));
        }
        linear
    }

    fn leaf(&mut self, kind: Kind, slots: &Slots) -> Pair {
        match self.below(6) {
            0 if kind != Kind::Bool => {
                let value = self.one_of(&[0, 1, -1, 2, 3, 7, 100, 127, -128, 255]);
                return (Rc::new(Expr::Integer(kind, value)), self.terms.integer(kind, value));
            }
            1 if kind == REAL => {
                let value = self.one_of(&[0.0, 1.0, 0.5, -1.5, 4.0]);
                return (Rc::new(Expr::Real(value)), self.terms.real(kind, value));
            }
            1 if kind == Kind::Bool => {
                let value = self.below(2);
                return (Rc::new(Expr::Integer(kind, value as i64)), self.terms.truth(value == 1));
            }
            2 | 3 if kind != Kind::Bool => {
                let linear = self.linear(slots);
                if let Some(view) = self.terms.linear(&linear, kind) {
                    return (Rc::new(Expr::Affine(kind, linear)), view);
                }
            }
            _ => {}
        }
        let mut index: Vec<Digits> = Vec::new();
        for _ in 0..self.below(4) {
            let mut number = Digits::new();
            for _ in 0..=self.below(2) {
                let digit = self.digit(slots);
                push(&mut number, digit);
            }
            if !number.is_empty() {
                index.push(number);
            }
        }
        // Leaves of equal shape are often the same parameter.
        let shape = index.iter().map(|number| count(number));
        let id = (numbers::hash(shape) % 1000 * 2 + self.below(2)) as u32;
        let view = self.terms.leaf(crate::terms::Op::Param(id), kind, index.clone());
        (Rc::new(Expr::Param(id, kind, index)), view)
    }

    fn operation(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        if self.terms.has_padding && self.below(6) == 0 {
            return self.masked(kind, depth, slots);
        }
        match self.below(17) {
            16 => self.windows(kind, depth, slots),
            0..=2 => self.join(kind, depth, slots),
            3 | 4 => self.arithmetic(kind, depth, slots),
            5 => self.converted(kind, depth, slots),
            6 => {
                let (test, test_view) = self.of_kind(Kind::Bool, depth, slots);
                let (yes, yes_view) = self.of_kind(kind, depth, slots);
                let (no, no_view) = if self.below(2) == 0 {
                    (Rc::new(Expr::Integer(kind, 0)), self.terms.integer(kind, 0))
                } else {
                    self.of_kind(kind, depth, slots)
                };
                let view = self.terms.select(kind, &test_view, &yes_view, &no_view)?;
                Some((Rc::new(Expr::Select(test, yes, no)), view))
            }
            7 => {
                let (x, view) = self.of_kind(kind, depth, slots);
                let view = self.terms.other_map("other", kind, &[view])?;
                Some((Rc::new(Expr::Other(kind, x)), view))
            }
            8 | 9 => self.reduced(kind, depth, slots),
            10 => self.sliced(kind, depth, slots),
            11 => self.from(kind, depth, slots),
            12 | 13 => self.concatenated(kind, depth, slots),
            14 if kind != Kind::Bool => self.looked_up(kind, depth, slots),
            _ => self.updated(kind, depth, slots),
        }
    }

    fn join(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        use ReductionKind as R;
        let join = match kind {
            Kind::Bool => self.one_of(&[R::And, R::Or, R::Xor]),
            Kind::Integer(_) => self.one_of(&[R::Add, R::Add, R::Mul, R::Max, R::Min, R::And, R::Or, R::Xor]),
            _ => self.one_of(&[R::Add, R::Add, R::Mul, R::Mul, R::Max, R::Min]),
        };
        let (mut exprs, mut views) = (Vec::new(), Vec::new());
        for _ in 0..2 + self.below(2) {
            // Repeated operands are not rare.
            let (expr, view) = match exprs.last().cloned().zip(views.last().cloned()) {
                Some(last) if self.below(8) == 0 => last,
                _ => self.of_kind(kind, depth, slots),
            };
            exprs.push(expr);
            views.push(view);
        }
        if kind == REAL && matches!(join, R::Max | R::Min) && self.below(3) == 0 {
            let value = if join == R::Max { f64::NEG_INFINITY } else { f64::INFINITY };
            exprs.push(Rc::new(Expr::Real(value)));
            views.push(self.terms.real(kind, value));
        }
        let view = match (views.as_slice(), join) {
            ([x, y], R::Max) => self.terms.binary(BinaryOp::Maximum, kind, x, y)?,
            ([x, y], R::Min) => self.terms.binary(BinaryOp::Minimum, kind, x, y)?,
            ([x, y], R::And) if kind == Kind::Bool => self.terms.binary(BinaryOp::Multiply, kind, x, y)?,
            ([x, y], R::Or) if kind == Kind::Bool => self.terms.binary(BinaryOp::Add, kind, x, y)?,
            _ => self.terms.join(join, kind, &views)?,
        };
        Some((Rc::new(Expr::Join(join, kind, exprs)), view))
    }

    fn arithmetic(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        if kind == Kind::Bool {
            return self.test(depth, slots);
        }
        let (x, x_view) = self.of_kind(kind, depth, slots);
        match self.below(4) {
            0 => {
                let view = self.terms.unary(UnaryOp::Negate, kind, &x_view)?;
                Some((Rc::new(Expr::Unary(UnaryOp::Negate, kind, x)), view))
            }
            1 if kind != REAL => {
                let (low, high) = (self.below(9) as i64, 5 + self.below(20) as i64);
                let (low_view, high_view) = (self.terms.integer(kind, low), self.terms.integer(kind, high));
                let view = self.terms.clamp(kind, &low_view, &x_view, &high_view)?;
                Some((Rc::new(Expr::Clamp(x, low, high)), view))
            }
            2 if kind != REAL => {
                let by = 1 + self.below(12) as i64;
                let by_view = self.terms.integer(kind, by);
                let by = Rc::new(Expr::Integer(kind, by));
                Some(if self.below(2) == 0 {
                    let view = self.terms.binary(BinaryOp::Divide, kind, &x_view, &by_view)?;
                    (Rc::new(Expr::Divide(kind, x, by)), view)
                } else {
                    let view = self.terms.binary(BinaryOp::Remainder, kind, &x_view, &by_view)?;
                    (Rc::new(Expr::Remainder(kind, x, by)), view)
                })
            }
            3 if kind == REAL => {
                let (y, y_view) = self.of_kind(kind, depth, slots);
                let view = self.terms.binary(BinaryOp::Divide, kind, &x_view, &y_view)?;
                Some((Rc::new(Expr::Divide(kind, x, y)), view))
            }
            _ => {
                let (y, y_view) = self.of_kind(kind, depth, slots);
                let view = self.terms.binary(BinaryOp::Subtract, kind, &x_view, &y_view)?;
                Some((Rc::new(Expr::Subtract(kind, x, y)), view))
            }
        }
    }

    /// A truth value.
    fn test(&mut self, depth: usize, slots: &Slots) -> Option<Pair> {
        use CompareDirection as C;
        if self.below(5) == 0 {
            let (x, view) = self.of_kind(Kind::Bool, depth, slots);
            let view = self.terms.unary(UnaryOp::Not, Kind::Bool, &view)?;
            return Some((Rc::new(Expr::Unary(UnaryOp::Not, Kind::Bool, x)), view));
        }
        let kind = self.one_of(&KINDS[..5]);
        let direction = self.one_of(&[C::EQ, C::NE, C::LT, C::LE, C::GT, C::GE]);
        if self.below(2) == 0 {
            // A digit beside a constant: a mask of positions.
            let digit = self.digit(slots);
            let (coef, base) = (self.one_of(&[1, 1, 1, -1, 2, 3]), self.one_of(&[0, 0, 1, -2]));
            let value = base + coef * self.below(digit.size + 1) as i64 + self.one_of(&[0, 0, 0, 1, -1]);
            let linear = Linear { base, parts: vec![(coef, digit)] };
            let (x, y) = (self.terms.linear(&linear, kind)?, self.terms.integer(kind, value));
            let view = self.terms.compare(direction, &x, &y, true)?;
            let x = Rc::new(Expr::Affine(kind, linear));
            return Some((Rc::new(Expr::Compare(direction, x, Rc::new(Expr::Integer(kind, value)))), view));
        }
        let (x, x_view) = self.of_kind(kind, depth, slots);
        let (y, y_view) = self.of_kind(kind, depth, slots);
        let view = self.terms.compare(direction, &x_view, &y_view, true)?;
        Some((Rc::new(Expr::Compare(direction, x, y)), view))
    }

    fn converted(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let from = self.one_of(&KINDS);
        let (x, view) = self.of_kind(from, depth, slots);
        let view = self.terms.convert(kind, &view)?;
        Some((Rc::new(Expr::Convert(from, kind, x)), view))
    }

    fn reduced(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        use ReductionKind as R;
        let join = match kind {
            Kind::Bool => self.one_of(&[R::And, R::Or]),
            _ => self.one_of(&[R::Add, R::Add, R::Add, R::Max, R::Min, R::Mul]),
        };
        let (slot, size) = (self.terms.fresh(), self.one_of(&[2, 3, 4, 6]));
        let mut inner = slots.clone();
        // The reduced slot is used more often than the others.
        inner.extend([(slot, size); 3]);
        let (x, view) = self.of_kind(kind, depth, &inner);
        let view = self.terms.reduce(join, kind, &view, &[(slot, size)])?;
        Some((Rc::new(Expr::Reduce(join, kind, slot, size, x)), view))
    }

    /// A slot, its size, and the slots with another size for it, for each of `sizes`.
    fn resized(slots: &Slots, slot: u32, size: u64) -> Slots {
        slots.iter().map(|&(own, old)| (own, if own == slot { size } else { old })).collect()
    }

    /// A lookup that is clamped and masked, as in a sharded table: `[low <= y] * [y <= high] * sum over p of [p + base = clamp(y)] * x`. The
    /// bounds of the masks and of the clamp may differ.
    fn looked_up(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        use CompareDirection as C;
        let integers = self.one_of(&[Kind::Integer(DType::I32), Kind::Integer(DType::I8)]);
        let (y, y_view) = self.of_kind(integers, depth.min(1), slots);
        let (slot, size) = (self.terms.fresh(), self.one_of(&[2, 4, 6]));
        let base = self.one_of(&[0, 0, 0, 1, -2]);
        let near = |random: &mut Random, bound: i64| bound + random.one_of(&[0, 0, 0, 0, 0, 1, -1]);
        let [low, high] = [near(self, base), near(self, base + size as i64 - 1)];
        let [least, most] = [near(self, low), near(self, high)];
        let integer = |random: &mut Random, value: i64| {
            (Rc::new(Expr::Integer(integers, value)), random.terms.integer(integers, value))
        };
        let ((least_expr, least_view), (most_expr, most_view)) = (integer(self, least), integer(self, most));
        let (low_view, high_view) = (integer(self, low).1, integer(self, high).1);
        let clamped = self.terms.clamp(integers, &low_view, &y_view, &high_view)?;
        let clamped_expr = Rc::new(Expr::Clamp(y.clone(), low, high));
        let place = Linear { base, parts: vec![(1, Digit::all(slot, size))] };
        let place_view = self.terms.linear(&place, integers)?;
        let place_expr = Rc::new(Expr::Affine(integers, place));
        let mut inner = slots.clone();
        inner.extend([(slot, size); 3]);
        let (x, x_view) = self.of_kind(kind, depth, &inner);
        let indicator = |random: &mut Random, direction, a: &Pair, b: &Pair| -> Option<Pair> {
            let test = random.terms.compare(direction, &a.1, &b.1, true)?;
            let view = random.terms.indicator(kind, &test)?;
            let expr = Rc::new(Expr::Compare(direction, a.0.clone(), b.0.clone()));
            Some((Rc::new(Expr::Convert(Kind::Bool, kind, expr)), view))
        };
        let y = (y, y_view);
        let equal = indicator(self, C::EQ, &(place_expr, place_view), &(clamped_expr, clamped))?;
        let above = indicator(self, C::GE, &y, &(least_expr, least_view))?;
        let below = indicator(self, C::LE, &y, &(most_expr, most_view))?;
        let product = self.terms.join(ReductionKind::Mul, kind, &[equal.1, x_view])?;
        let product_expr = Rc::new(Expr::Join(ReductionKind::Mul, kind, vec![equal.0, x]));
        let sum = self.terms.reduce(ReductionKind::Add, kind, &product, &[(slot, size)])?;
        let sum_expr = Rc::new(Expr::Reduce(ReductionKind::Add, kind, slot, size, product_expr));
        let view = self.terms.join(ReductionKind::Mul, kind, &[above.1, below.1, sum])?;
        Some((Rc::new(Expr::Join(ReductionKind::Mul, kind, vec![above.0, below.0, sum_expr])), view))
    }

    fn sliced(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let (slot, count) = self.one_of(slots);
        let stride = self.one_of(&[1, 1, 2, 3]);
        let start = self.one_of(&[0, 0, 1, 2, count, count / 2]);
        let limit = start + (count - 1) * stride + 1;
        let size = limit + self.one_of(&[0, 0, 1, 2, count]);
        let range = Range { size, start, limit, stride };
        let (x, view) = self.of_kind(kind, depth, &Self::resized(slots, slot, size));
        let view = self.terms.slice(&view, slot, range)?;
        Some((Rc::new(Expr::Slice(slot, range, x)), view))
    }

    fn from(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let (slot, count) = self.one_of(slots);
        let others: Slots = slots.iter().copied().filter(|&(own, _)| own != slot).collect();
        if others.is_empty() {
            return None;
        }
        let digit = self.digit(&others);
        let base = self.one_of(&[0, 0, count as i64, 1]);
        let mut start = Linear { base, parts: vec![(count as i64, digit)] };
        if self.below(3) == 0 {
            start = start.plus(&self.linear(&others), 1)?;
        }
        let (low, high) = start.range()?;
        if low < 0 {
            return None;
        }
        let size = high as u64 + count + self.one_of(&[0, 0, count]);
        let (x, view) = self.of_kind(kind, depth, &Self::resized(slots, slot, size));
        let view = self.terms.slice_at(&view, slot, size, count, &start)?;
        Some((Rc::new(Expr::From(slot, start, x)), view))
    }

    fn windows(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let (slot, length) = self.one_of(slots);
        let others: Slots = slots.iter().copied().filter(|&(own, _)| own != slot).collect();
        if others.is_empty() {
            return None;
        }
        let digit = self.digit(&others);
        let step = self.one_of(&[1, 2, length / 2, length]);
        let start = self.one_of(&[0, 0, -1, -2, 1]);
        let end = start + (digit.size as i64 - 1) * step as i64 + length as i64;
        let size = u64::try_from(end + self.one_of(&[0, 0, -1, -2, 1])).ok().filter(|&size| size > 0)?;
        let (x, view) = self.of_kind(kind, depth, &Self::resized(slots, slot, size));
        let is_inside = start >= 0 && end <= size as i64;
        let fill = i64::from(self.below(2) == 1);
        let fill_view = self.terms.integer(kind, fill);
        let fill = Rc::new(Expr::Integer(kind, fill));
        let mut number = Digits::new();
        push(&mut number, digit);
        let windows = Windows {
            inner: view,
            number,
            step,
            length,
            start,
            size,
            fill: if is_inside { None } else { Some(fill_view) },
        };
        let view = self.terms.windows(kind, slot, &windows)?;
        // The argument of the windows is found again.
        if let Some(found) = self.terms.windowed(&view, slot, length) {
            let again = self.terms.windows(kind, slot, &found)?;
            assert_eq!(again, view, "{windows:?}");
        }
        let starts = Linear { base: start, parts: vec![(step as i64, digit)] };
        Some((Rc::new(Expr::Windows(slot, starts, size, x, fill)), view))
    }

    fn concatenated(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let (slot, size) = self.one_of(slots);
        let (mut left, mut exprs, mut views, mut sizes) = (size, Vec::new(), Vec::new(), Vec::new());
        while left > 0 {
            let length = self.one_of(&[1, 2, size / 2, size / 3, left]).clamp(1, left);
            let (expr, view) = if self.terms.has_padding && self.below(2) == 0 {
                (Rc::new(Expr::Arbitrary(self.word(), kind)), self.terms.arbitrary(kind))
            } else if self.below(3) == 0 {
                (Rc::new(Expr::Integer(kind, 0)), self.terms.integer(kind, 0))
            } else {
                self.of_kind(kind, depth, &Self::resized(slots, slot, length))
            };
            exprs.push((expr, length));
            views.push(view);
            sizes.push(length);
            left -= length;
        }
        let view = self.terms.concatenate(kind, slot, &views, &sizes)?;
        Some((Rc::new(Expr::Concat(slot, exprs)), view))
    }

    /// A padded value with a mask, of which the bounds may differ, and its reduction over all positions of the slot or some of them.
    fn masked(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        use ReductionKind as R;
        let (slot, size) = (self.terms.fresh(), self.one_of(&[4, 6, 12]));
        let count = 1 + self.below(size - 1);
        let mut inner = slots.clone();
        inner.extend([(slot, count); 3]);
        let (x, view) = self.of_kind(kind, depth, &inner);
        let padding = self.terms.arbitrary(kind);
        let view = self.terms.concatenate(kind, slot, &[view, padding], &[count, size - count])?;
        let padding = Rc::new(Expr::Arbitrary(self.word(), kind));
        let x = Rc::new(Expr::Concat(slot, vec![(x, count), (padding, size - count)]));
        let bound = count as i64 + self.one_of(&[0, 0, 0, 0, -1, 1]);
        let words = Kind::Integer(DType::I32);
        let position = Linear { base: 0, parts: vec![(1, Digit::all(slot, size))] };
        let (a, b) = (self.terms.linear(&position, words)?, self.terms.integer(words, bound));
        let test = self.terms.compare(CompareDirection::LT, &a, &b, true)?;
        let bound = Rc::new(Expr::Integer(words, bound));
        let test_expr =
            Rc::new(Expr::Compare(CompareDirection::LT, Rc::new(Expr::Affine(words, position)), bound));
        let join = if kind == Kind::Bool { R::Or } else { self.one_of(&[R::Add, R::Add, R::Max]) };
        let (y, y_view) = self.of_kind(kind, depth, slots);
        let fill = if self.below(3) == 0 {
            (y, y_view)
        } else {
            (Rc::new(Expr::Integer(kind, 0)), self.terms.integer(kind, 0))
        };
        let selected = self.terms.select(kind, &test, &view, &fill.1)?;
        let expr = Rc::new(Expr::Select(test_expr, x, fill.0));
        // The position consists of two parts, as between devices and blocks.
        let (major, minor) = (self.terms.fresh(), self.terms.fresh());
        let parts = self.one_of(&divisors(size));
        let number = [Digit::all(major, size / parts), Digit::all(minor, parts)];
        let split = selected.moved(|old| (old == slot).then_some(&number[..]))?;
        let partial = self.terms.reduce(join, kind, &split, &[(minor, parts)])?;
        let whole = self.terms.reduce(join, kind, &partial, &[(major, size / parts)])?;
        Some((Rc::new(Expr::Reduce(join, kind, slot, size, expr)), whole))
    }

    fn updated(&mut self, kind: Kind, depth: usize, slots: &Slots) -> Option<Pair> {
        let (slot, size) = self.one_of(slots);
        let count = 1 + self.below(size);
        let start = self.below(size - count + 1);
        let (x, x_view) = self.of_kind(kind, depth, slots);
        let (update, update_view) = self.of_kind(kind, depth, &Self::resized(slots, slot, count));
        let view = self.terms.update(kind, slot, [&x_view, &update_view], [start, count, size])?;
        Some((Rc::new(Expr::Update(slot, x, update, start, count)), view))
    }
}
