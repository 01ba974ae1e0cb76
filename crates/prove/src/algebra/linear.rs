//! Affine functions of positions: `base` plus the sum of digits times coefficients.
//!
//! Offsets that devices compute from their number, iotas, and masks that compare them are affine. In canonical form, digits that together
//! are one number are one dimension: the position of a device plus a local position is the global position.

use smallvec::SmallVec;

use crate::terms::{Digit, Digits, Kind, Op, Terms, View, chain, count, push};

/// An affine function of digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Linear {
    pub(crate) base: i64,
    pub(crate) parts: Vec<(i64, Digit)>,
}

/// The least and greatest integer of a kind; for reals, those up to which sums are exact.
fn limits(kind: Kind) -> (i64, i64) {
    use shardc_ir::DTypeClass as C;
    match kind {
        Kind::Bool => (0, 1),
        Kind::Real | Kind::Complex => (-(1 << 50), 1 << 50),
        Kind::Integer(dtype) => match (dtype.class(), dtype.bits()) {
            (C::Unsigned, bits) if bits < 63 => (0, (1 << bits) - 1),
            (C::Unsigned, _) => (0, i64::MAX),
            (_, bits) if bits < 64 => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => (i64::MIN, i64::MAX),
        },
    }
}

/// The least integer of a kind.
pub(super) fn least(kind: Kind) -> i64 {
    limits(kind).0
}

/// The greatest integer of a kind.
pub(super) fn greatest(kind: Kind) -> i64 {
    limits(kind).1
}

impl Linear {
    pub(crate) fn constant(base: i64) -> Linear {
        Linear { base, parts: Vec::new() }
    }

    pub(crate) fn plus(&self, other: &Linear, factor: i64) -> Option<Linear> {
        let mut sum = self.clone();
        sum.base = sum.base.checked_add(other.base.checked_mul(factor)?)?;
        for &(coef, digit) in &other.parts {
            sum.parts.push((coef.checked_mul(factor)?, digit));
        }
        sum.merged()
    }

    pub(crate) fn times(&self, factor: i64) -> Option<Linear> {
        Linear::default().plus(self, factor)
    }

    /// The least and greatest value; `None` if one does not fit in 64 bits.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        self.parts.iter().try_fold((self.base, self.base), |(low, high), &(coef, digit)| {
            let most = coef.checked_mul(i64::try_from(digit.size - 1).ok()?)?;
            Some((low.checked_add(most.min(0))?, high.checked_add(most.max(0))?))
        })
    }

    /// The function with disjoint digits, as few as possible, in canonical order.
    pub(crate) fn merged(&self) -> Option<Linear> {
        let mut slots: Vec<u32> = self.parts.iter().map(|(_, digit)| digit.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut parts: Vec<(i64, Digit)> = Vec::new();
        for slot in slots {
            let own = || self.parts.iter().filter(move |(_, digit)| digit.slot == slot);
            let bounds = chain(own().flat_map(|(_, digit)| [digit.stride, digit.end()]).collect())?;
            let mut pieces: Vec<(i64, Digit)> = Vec::new();
            for pair in bounds.windows(2).rev() {
                let &[low, high] = pair else { continue };
                let mut sum = 0i64;
                for &(coef, digit) in own() {
                    if low >= digit.stride && high <= digit.end() {
                        sum = sum.checked_add(coef.checked_mul(i64::try_from(low / digit.stride).ok()?)?)?;
                    }
                }
                let piece = Digit { slot, stride: low, size: high / low };
                match pieces.last_mut() {
                    _ if sum == 0 => {}
                    Some((coef, major))
                        if major.joins(piece) && Some(*coef) == sum.checked_mul(piece.size as i64) =>
                    {
                        *coef = sum;
                        *major = Digit { size: major.size * piece.size, ..piece };
                    }
                    _ => pieces.push((sum, piece)),
                }
            }
            parts.extend(pieces);
        }
        // Positive coefficients first: the digits of one number are then adjacent.
        parts.sort_by_key(|&(coef, digit)| (coef < 0, std::cmp::Reverse(coef.unsigned_abs()), digit));
        // The least integer has no negative.
        let has_negatives = parts.iter().all(|&(coef, _)| coef != i64::MIN) && self.base != i64::MIN;
        has_negatives.then_some(Linear { base: self.base, parts })
    }

    /// A function with the same sign (less than zero, or not), without parts that cannot change it.
    pub(crate) fn with_sign(&self) -> Linear {
        let steps = self.parts.iter().map(|(coef, _)| coef.saturating_abs()).filter(|&coef| coef > 1);
        let without = |step: i64| {
            let (kept, rest): (Vec<_>, Vec<_>) = self.parts.iter().partition(|(coef, _)| coef % step == 0);
            let (low, high) = Linear { base: self.base, parts: rest }.range()?;
            let quotient = low.div_euclid(step);
            let parts = kept.into_iter().map(|(coef, digit)| (coef / step, digit)).collect();
            (high.div_euclid(step) == quotient).then_some(Linear { base: quotient, parts })
        };
        let mut steps: Vec<i64> = steps.collect();
        steps.sort_unstable();
        steps.dedup();
        steps
            .into_iter()
            .rev()
            .find_map(without)
            .and_then(|linear| linear.merged())
            .unwrap_or_else(|| self.clone())
    }

    /// For a function of one digit: the value of the digit at which it is not less than zero, if there is only one.
    pub(crate) fn last(&self) -> Option<Linear> {
        let &[(coef, digit)] = self.parts.as_slice() else { return None };
        let most = i64::try_from(digit.size).ok()? - 1;
        let holds = |at: i64| Some(coef.checked_mul(at)?.checked_add(self.base)? >= 0);
        match coef {
            1.. if holds(most)? && !holds(most - 1)? => Some(Linear::constant(most)),
            ..=-1 if holds(0)? && !holds(1)? => Some(Linear::constant(0)),
            _ => None,
        }
    }

    /// The digit of a function of one digit.
    pub(crate) fn digit(&self) -> Linear {
        Linear { base: 0, parts: self.parts.iter().map(|&(_, digit)| (1, digit)).collect() }
    }

    /// Quotient and remainder of a division by `by`, if all values are at least zero and both are affine.
    fn divided(&self, by: i64) -> Option<(Linear, Linear)> {
        if by <= 0 || self.range()?.0 < 0 {
            return None;
        }
        let (mut quotient, mut rest) = (Linear::constant(self.base / by), Linear::constant(self.base % by));
        for &(coef, digit) in &self.parts {
            if coef % by == 0 {
                quotient.parts.push((coef / by, digit));
                continue;
            }
            let cut = u64::try_from(by / coef.max(1)).ok().filter(|&cut| cut > 1);
            match cut {
                // The digit crosses the divisor: its major part belongs to the quotient.
                Some(cut) if by % coef == 0 && digit.size.is_multiple_of(cut) => {
                    let middle = digit.stride * cut;
                    rest.parts.push((coef, digit.part(digit.stride, middle)));
                    if middle < digit.end() {
                        quotient.parts.push((1, digit.part(middle, digit.end())));
                    }
                }
                _ => rest.parts.push((coef, digit)),
            }
        }
        let (low, high) = rest.range()?;
        (low >= 0 && high < by).then_some((quotient.merged()?, rest.merged()?))
    }

    pub(crate) fn quotient(&self, by: i64) -> Option<Linear> {
        Some(self.divided(by)?.0)
    }

    pub(crate) fn remainder(&self, by: i64) -> Option<Linear> {
        Some(self.divided(by)?.1)
    }

    /// The function whose values are `list`, by position in a slot; `None` if it is not affine in digits of the position.
    pub(crate) fn fit(list: &[i64], slot: u32) -> Option<Linear> {
        let (&base, count) = (list.first()?, list.len() as u64);
        let (mut stride, mut parts) = (1u64, Vec::new());
        while stride < count {
            let coef = list.get(stride as usize)?.checked_sub(base)?;
            let fits = |&i: &u64| {
                list.get((i * stride) as usize).copied()
                    == coef.checked_mul(i as i64).and_then(|x| x.checked_add(base))
            };
            let run = (1..count / stride).take_while(fits).count() as u64 + 1;
            // The size of a digit divides the number of positions that are left.
            let left = count / stride;
            let size = (2..=run.min(left)).rev().find(|&size| left.is_multiple_of(size))?;
            parts.push((coef, Digit { slot, stride, size }));
            stride *= size;
        }
        let found = Linear { base, parts };
        let value = |at: u64| {
            found.parts.iter().try_fold(base, |sum, &(coef, digit)| {
                sum.checked_add(coef.checked_mul((at / digit.stride % digit.size) as i64)?)
            })
        };
        (stride == count && list.iter().zip(0..).all(|(&x, at)| value(at) == Some(x))).then_some(found)
    }

    /// Replaces positions as [`View::moved`] does.
    pub(crate) fn moved<'a>(&self, number: impl Fn(u32) -> Option<&'a [Digit]>) -> Option<Linear> {
        let mut parts = Vec::new();
        for &(coef, digit) in &self.parts {
            let mut digits = Digits::new();
            match number(digit.slot) {
                Some(number) => crate::terms::replace(digit, number, &mut digits)?,
                None => push(&mut digits, digit),
            }
            let mut weight = coef;
            for &part in digits.iter().rev() {
                parts.push((weight, part));
                weight = weight.checked_mul(part.size as i64)?;
            }
        }
        Linear { base: self.base, parts }.merged()
    }
}

impl Terms {
    /// The affine function that a view is, if it is one.
    pub(crate) fn as_linear(&self, view: &View) -> Option<Linear> {
        if let Some(value) = self.as_integer(view) {
            return (value != i64::MIN).then(|| Linear::constant(value));
        }
        let Op::Affine { base, coefs } = &self.node(view.term).op else { return None };
        let mut linear = Linear::constant(*base);
        for (coef, number) in coefs.iter().zip(&view.index) {
            let mut weight = *coef;
            for &digit in number.iter().rev() {
                linear.parts.push((weight, digit));
                weight = weight.checked_mul(digit.size as i64)?;
            }
        }
        linear.merged()
    }

    /// The view of an affine function; `None` if a value does not fit in the kind.
    pub(crate) fn linear(&mut self, linear: &Linear, kind: Kind) -> Option<View> {
        let linear = linear.merged()?;
        let ((low, high), (least, most)) = (linear.range()?, limits(kind));
        if low < least || high > most {
            return None;
        }
        let mut coefs: SmallVec<[i64; 4]> = SmallVec::new();
        let mut index: Vec<Digits> = Vec::new();
        for &(coef, digit) in &linear.parts {
            match (coefs.last_mut(), index.last_mut()) {
                (Some(last), Some(number)) if Some(*last) == coef.checked_mul(digit.size as i64) => {
                    *last = coef;
                    push(number, digit);
                }
                _ => {
                    coefs.push(coef);
                    let mut number = Digits::new();
                    push(&mut number, digit);
                    index.push(number);
                }
            }
        }
        if index.is_empty() {
            return Some(self.integer(kind, linear.base));
        }
        debug_assert!(index.iter().all(|number| count(number) > 1));
        Some(self.leaf(Op::Affine { base: linear.base, coefs }, kind, index))
    }

    /// The least and greatest value of an integer view, if known.
    pub(crate) fn range(&self, view: &View) -> Option<(i64, i64)> {
        if let Some(linear) = self.as_linear(view) {
            return linear.range();
        }
        let node = self.node(view.term);
        match &node.op {
            Op::Map(crate::terms::Map::Clamp) => {
                let args = self.arguments(view)?;
                let [_, low, high] = args.as_slice() else { return None };
                let (low, high) = (self.range(low)?, self.range(high)?);
                (low.1 <= high.0).then_some((low.0, high.1))
            }
            Op::Map(crate::terms::Map::Convert) => {
                let args = self.arguments(view)?;
                let range = self.range(args.first()?)?;
                let (least, most) = limits(node.kind);
                (range.0 >= least && range.1 <= most).then_some(range)
            }
            _ => None,
        }
    }

    /// Whether all values from `low` to `high` fit in a kind.
    pub(crate) fn fits(kind: Kind, low: i64, high: i64) -> bool {
        let (least, most) = limits(kind);
        low >= least && high <= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value at positions of slots 0 and 1.
    fn value(linear: &Linear, at: [u64; 2]) -> i64 {
        let term = |&(coef, d): &(i64, Digit)| coef * (at[d.slot as usize] / d.stride % d.size) as i64;
        linear.base + linear.parts.iter().map(term).sum::<i64>()
    }

    #[test]
    fn a_function_with_fewer_parts_has_the_same_sign() {
        let (mut shorter, mut single) = (0, 0);
        for base in -9..=9 {
            for (major, minor) in [(4, 1), (4, -1), (-4, 1), (-4, -1), (3, 1), (6, 2), (1, 1), (5, 0)] {
                let parts = vec![(major, Digit::all(0, 3)), (minor, Digit::all(1, 4))];
                let linear = Linear { base, parts }.merged().unwrap();
                let sign = linear.with_sign();
                shorter += usize::from(sign.parts.len() < linear.parts.len());
                let last = sign.last().map(|last| (sign.digit(), last.base));
                single += usize::from(last.is_some());
                for at in (0..3).flat_map(|x| (0..4).map(move |y| [x, y])) {
                    let holds = value(&linear, at) >= 0;
                    assert_eq!(value(&sign, at) >= 0, holds, "{linear:?} {sign:?}");
                    if let Some((digit, last)) = &last {
                        assert_eq!(value(digit, at) == *last, holds, "{linear:?}");
                    }
                }
            }
        }
        assert!(shorter > 10 && single > 5, "{shorter} {single}");
    }
}
