//! Reductions over slots.
//!
//! | rewrite | condition |
//! |---|---|
//! | a reduction of a reduction is one reduction | the same operation |
//! | `sum of (x + y)` = `sum of x + sum of y` | |
//! | `sum over i of a * x` = `a * sum over i of x` | `a` does not depend on `i` |
//! | `sum over i, j of a * x` = `sum over i of a * sum over j of x` | `a` does not depend on `j` |
//! | `sum over i of [i = n] * x[i]` = `x[n]` | `n` is affine, in range, and does not depend on summed positions |
//! | `sum over i of [low <= i < high] * x[i]` = the sum of a slice of `x` | all of `i` is summed |
//! | `sum over i of x` = `n * x` | `x` does not depend on `i`, which has `n` values |
//! | `max over i of x` = `x`, likewise for other idempotent operations | `x` does not depend on `i` |

use smallvec::SmallVec;

use shardc_ir::ReductionKind;

use super::Linear;
use crate::terms::{Digit, Digits, Kind, Map, Op, Terms, VarRole, View};

/// A slot that is reduced, and its size.
pub(crate) type Reduced = (u32, u64);

/// A reduction of a view over fresh slots: its argument, and these slots.
struct Opened {
    inner: View,
    slots: Vec<Reduced>,
}

impl Terms {
    /// Reduces a view over slots.
    pub(crate) fn reduce(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        self.nested(|terms| terms.reduce_by_rules(join, kind, view, slots))
    }

    fn reduce_by_rules(
        &mut self,
        join: ReductionKind,
        kind: Kind,
        view: &View,
        slots: &[Reduced],
    ) -> Option<View> {
        let slots: Vec<Reduced> = slots.iter().copied().filter(|&(_, size)| size > 1).collect();
        if self.node(view.term).op == Op::Reduce(join) {
            let opened = self.opened(view)?;
            return self.reduce(join, kind, &opened.inner, &[slots, opened.slots].concat());
        }
        if let Some(view) = self.reduce_selected(join, kind, view, &slots) {
            return Some(view);
        }
        if let Some(view) = self.reduce_padded(join, kind, view, &slots) {
            return Some(view);
        }
        let uses = |view: &View| view.digits().any(|digit| slots.iter().any(|&(slot, _)| slot == digit.slot));
        if join == ReductionKind::Add {
            match self.node(view.term).op {
                Op::Join(ReductionKind::Add) => {
                    let args = self.arguments(view)?;
                    let sums: Option<Vec<View>> =
                        args.iter().map(|arg| self.reduce(join, kind, arg, &slots)).collect();
                    return self.join(ReductionKind::Add, kind, &sums?);
                }
                Op::Join(ReductionKind::Mul) => {
                    let (inside, mut outside): (Vec<View>, Vec<View>) =
                        self.arguments(view)?.into_iter().partition(|arg| uses(arg));
                    if !outside.is_empty() {
                        let inside = self.join(ReductionKind::Mul, kind, &inside)?;
                        outside.push(self.reduce(join, kind, &inside, &slots)?);
                        return self.join(ReductionKind::Mul, kind, &outside);
                    }
                    if let Some(view) = self.selected(kind, &inside, &slots) {
                        return Some(view);
                    }
                    if let Some(view) = self.within_mask(kind, &inside, &slots) {
                        return Some(view);
                    }
                    if let Some(view) = self.eliminated(kind, &inside, &slots) {
                        return Some(view);
                    }
                }
                _ => {}
            }
        }
        if uses(view)
            && let Some(view) = self.reduce_pieces(join, kind, view, &slots)
        {
            return Some(view);
        }
        // Positions on which the view does not depend.
        let mut unused = 1u64;
        for &(slot, size) in &slots {
            let mut digits: Vec<Digit> = view.digits().filter(|digit| digit.slot == slot).collect();
            digits.sort_unstable();
            digits.dedup();
            let bounds =
                crate::terms::chain(digits.iter().flat_map(|digit| [digit.stride, digit.end()]).collect())?;
            let used: u64 = bounds
                .windows(2)
                .filter_map(|pair| match *pair {
                    [low, high] if digits.iter().any(|d| d.stride <= low && high <= d.end()) => {
                        Some(high / low)
                    }
                    _ => None,
                })
                .product();
            unused = unused.checked_mul(size / used)?;
        }
        let repeats = match join {
            ReductionKind::Max | ReductionKind::Min | ReductionKind::And | ReductionKind::Or => 1,
            ReductionKind::Add => i64::try_from(unused).ok()?,
            ReductionKind::Mul | ReductionKind::Xor if unused == 1 => 1,
            ReductionKind::Mul | ReductionKind::Xor => return None,
        };
        let reduced = if uses(view) { self.reduction(join, kind, view, &slots)? } else { view.clone() };
        if repeats == 1 {
            return Some(reduced);
        }
        let factor = self.integer(kind, repeats);
        self.mul(kind, &factor, &reduced)
    }

    /// `sum over i of [i = n] * x[i]` is `x[n]`, if `n` is in range and does not depend on summed positions.
    fn selected(&mut self, kind: Kind, factors: &[View], slots: &[Reduced]) -> Option<View> {
        for (at, factor) in factors.iter().enumerate() {
            let Some((slot, size, value)) = self.solved(factor, slots) else { continue };
            let others = factors.iter().enumerate().filter(|(other, _)| *other != at);
            let moved: Option<Vec<View>> =
                others.map(|(_, view)| self.slice_at(view, slot, size, 1, &value)).collect();
            let Some(moved) = moved else { continue };
            let product = self.join(ReductionKind::Mul, kind, &moved)?;
            let rest: Vec<Reduced> = slots.iter().copied().filter(|&(other, _)| other != slot).collect();
            return self.reduce(ReductionKind::Add, kind, &product, &rest);
        }
        None
    }

    /// For `[i = n]`, where `i` is the position in one of the slots: the slot, its size, and `n`, which is in range.
    fn solved(&self, factor: &View, slots: &[Reduced]) -> Option<(u32, u64, Linear)> {
        if !self.is_indicator(factor) {
            return None;
        }
        let test = self.arguments(factor)?.pop()?;
        if self.node(test.term).op != Op::Map(Map::IsZero) {
            return None;
        }
        let difference = self.as_linear(&self.arguments(&test)?.pop()?)?;
        let is_summed = |digit: Digit| slots.iter().any(|&(slot, _)| slot == digit.slot);
        let mut summed = difference.parts.iter().filter(|(_, digit)| is_summed(*digit));
        let (&(coef, digit), None) = (summed.next()?, summed.next()) else { return None };
        let &(slot, size) = slots.iter().find(|(slot, _)| *slot == digit.slot)?;
        if digit != Digit::all(slot, size) || coef.unsigned_abs() != 1 {
            return None;
        }
        let rest = difference.parts.iter().copied().filter(|(_, digit)| !is_summed(*digit)).collect();
        let value = Linear { base: difference.base, parts: rest }.times(-coef)?;
        let (low, high) = value.range()?;
        (low >= 0 && high < i64::try_from(size).ok()?).then_some((slot, size, value))
    }

    /// Sums products one variable after the other: `sum over i, j of a[i] * x[i, j]` is `sum over i of a[i] * sum over j of x[i, j]`. `None`
    /// if every factor depends on every position.
    fn eliminated(&mut self, kind: Kind, factors: &[View], slots: &[Reduced]) -> Option<View> {
        // Parts of the positions, and the factors that depend on each.
        let mut parts: Vec<(Digit, Vec<usize>)> = Vec::new();
        for &(slot, size) in slots {
            let own = || factors.iter().flat_map(View::digits).filter(move |digit| digit.slot == slot);
            let bounds = own().flat_map(|digit| [digit.stride, digit.end()]).chain([1, size]).collect();
            for pair in crate::terms::chain(bounds)?.windows(2).rev() {
                let &[low, high] = pair else { continue };
                let covers = |digit: Digit| digit.slot == slot && digit.stride <= low && high <= digit.end();
                let users = (0..factors.len()).filter(|&at| factors[at].digits().any(covers)).collect();
                parts.push((Digit { slot, stride: low, size: high / low }, users));
            }
        }
        let (_, fewest) = parts.iter().min_by_key(|(_, users)| users.len())?;
        let fewest = fewest.clone();
        if fewest.is_empty() || fewest.len() == factors.len() {
            return None;
        }
        // Each part becomes a slot of its own.
        let own: Vec<(Digit, u32)> = parts.iter().map(|&(part, _)| (part, self.fresh())).collect();
        let number = |slot: u32| -> Digits {
            let mut number = Digits::new();
            let parts = own.iter().filter(|(part, _)| part.slot == slot);
            parts.for_each(|&(part, new)| crate::terms::push(&mut number, Digit::all(new, part.size)));
            number
        };
        let numbers: Vec<(u32, Digits)> = slots.iter().map(|&(slot, _)| (slot, number(slot))).collect();
        let place = |slot: u32| numbers.iter().find(|(old, _)| *old == slot).map(|(_, number)| &number[..]);
        let moved: Option<Vec<View>> = factors.iter().map(|factor| factor.moved(place)).collect();
        let moved = moved?;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for ((part, users), &(_, slot)) in parts.iter().zip(&own) {
            let list = if *users == fewest { &mut first } else { &mut second };
            list.push((slot, part.size));
        }
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            (0..moved.len()).partition(|at| fewest.contains(at));
        let take = |list: &[usize]| -> Vec<View> { list.iter().map(|&at| moved[at].clone()).collect() };
        let inside = self.join(ReductionKind::Mul, kind, &take(&inside))?;
        let mut product = take(&outside);
        product.push(self.reduce(ReductionKind::Add, kind, &inside, &first)?);
        let product = self.join(ReductionKind::Mul, kind, &product)?;
        self.reduce(ReductionKind::Add, kind, &product, &second)
    }

    /// A reduction over slots on which the view depends.
    fn reduction(&mut self, join: ReductionKind, kind: Kind, view: &View, slots: &[Reduced]) -> Option<View> {
        let slots: Vec<u32> = slots.iter().map(|&(slot, _)| slot).collect();
        self.build(Op::Reduce(join), kind, std::slice::from_ref(view), &slots, &[])
    }

    /// The argument of a reduction, whose reduced variables become fresh slots.
    fn opened(&mut self, view: &View) -> Option<Opened> {
        let vars = self.node(view.term).vars.clone();
        let mut slots = Vec::new();
        let mut bound: Vec<Option<Digits>> = Vec::new();
        for var in vars {
            bound.push((var.role == VarRole::Reduced).then(|| {
                let slot = self.fresh();
                slots.push((slot, var.size));
                SmallVec::from_slice(&[Digit::all(slot, var.size)])
            }));
        }
        Some(Opened { inner: self.argument(view, 0, &bound)?, slots })
    }

    /// Removes the mask of a lookup that is masked to the range of its positions; the header of `join` has the equation.
    pub(super) fn unmasked(&mut self, kind: Kind, factors: &[View]) -> Option<View> {
        if factors.iter().filter(|factor| self.is_indicator(factor)).count() < 2 {
            return None;
        }
        for (at, factor) in factors.iter().enumerate() {
            if self.node(factor.term).op != Op::Reduce(ReductionKind::Add) {
                continue;
            }
            let Some(opened) = self.opened(factor) else { continue };
            let inner = if self.node(opened.inner.term).op == Op::Join(ReductionKind::Mul) {
                self.arguments(&opened.inner)?
            } else {
                vec![opened.inner.clone()]
            };
            for (place, candidate) in inner.iter().enumerate() {
                let Some((plain, masks)) = self.unclamped(kind, candidate, factors) else { continue };
                let mut inner = inner.clone();
                inner[place] = plain;
                let product = self.join(ReductionKind::Mul, kind, &inner)?;
                let reduced = self.reduce(ReductionKind::Add, kind, &product, &opened.slots)?;
                let others = factors.iter().enumerate().filter(|(i, _)| *i != at && !masks.contains(i));
                let mut rest: Vec<View> = others.map(|(_, view)| view.clone()).collect();
                rest.push(reduced);
                return self.join(ReductionKind::Mul, kind, &rest);
            }
        }
        None
    }

    /// For `[p = clamp(y, 0, n - 1)]`, with masks `[0 <= y]` and `[y <= n - 1]` among the factors: returns `[p = y]` and the positions of the
    /// masks. `p` must be from 0 to `n - 1`.
    fn unclamped(&mut self, kind: Kind, candidate: &View, factors: &[View]) -> Option<(View, [usize; 2])> {
        if !self.is_indicator(candidate) {
            return None;
        }
        let test = self.arguments(candidate)?.pop()?;
        if self.node(test.term).op != Op::Map(Map::IsZero) {
            return None;
        }
        let difference = self.arguments(&test)?.pop()?;
        let integers = self.kind(&difference);
        let terms = if self.node(difference.term).op == Op::Join(ReductionKind::Add) {
            self.arguments(&difference)?
        } else {
            vec![difference]
        };
        let (mut position, mut clamp, mut sign) = (None, None, 1);
        for term in &terms {
            if self.node(term.term).op == Op::Map(Map::Clamp) {
                clamp = Some(term.clone());
            } else if let Some(linear) = self.as_linear(term) {
                position = Some(linear);
            } else {
                let factors = self
                    .arguments(term)
                    .filter(|_| self.node(term.term).op == Op::Join(ReductionKind::Mul))?;
                let is_minus = |view: &View| self.as_integer(view) == Some(-1);
                match factors.as_slice() {
                    [a, b] if is_minus(a) => clamp = Some(b.clone()),
                    [a, b] if is_minus(b) => clamp = Some(a.clone()),
                    _ => return None,
                }
                sign = -1;
            }
        }
        // The difference is `p - clamp` or `clamp - p`.
        let (position, clamp) = (position?.times(-sign)?, clamp?);
        if terms.len() != 2 || self.node(clamp.term).op != Op::Map(Map::Clamp) {
            return None;
        }
        let bounds = self.arguments(&clamp)?;
        let [y, low, high] = bounds.as_slice() else { return None };
        let (low, high) = (self.as_integer(low)?, self.as_integer(high)?);
        let (least, most) = position.range()?;
        if least < low || most > high {
            return None;
        }
        let (low, high) = (self.integer(integers, low), self.integer(integers, high));
        let above = self.compare(shardc_ir::CompareDirection::GE, y, &low, true)?;
        let below = self.compare(shardc_ir::CompareDirection::LE, y, &high, true)?;
        let above = self.indicator(kind, &above)?;
        let below = self.indicator(kind, &below)?;
        let masks = [factors.iter().position(|f| *f == above)?, factors.iter().position(|f| *f == below)?];
        let position = self.linear(&position, integers)?;
        let equal = self.compare(shardc_ir::CompareDirection::EQ, &position, y, true)?;
        Some((self.indicator(kind, &equal)?, masks))
    }
}
