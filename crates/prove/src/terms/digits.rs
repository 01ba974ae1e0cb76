//! Digits of positions. A position in a slot (a dimension of a local value, or the device) is a mixed-radix number.
//!
//! A digit `(slot, stride, size)` has the value `position(slot) / stride % size`, and `stride * size` divides the size of the slot. An
//! index of a term is a list of digits, from major to minor.

use smallvec::SmallVec;

/// A digit of the position in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Digit {
    /// The slot: a dimension, or [`DEVICE`](super::DEVICE), or a slot that exists while a term is built.
    pub(crate) slot: u32,
    /// The difference between positions that differ by one in this digit.
    pub(crate) stride: u64,
    /// The number of values of the digit.
    pub(crate) size: u64,
}

/// A number with these digits, from major to minor.
pub(crate) type Digits = SmallVec<[Digit; 3]>;

impl Digit {
    /// The digit that is the entire position in a slot of this size.
    pub(crate) fn all(slot: u32, size: u64) -> Digit {
        Digit { slot, stride: 1, size }
    }

    /// The stride of the next more major digit.
    pub(crate) fn end(self) -> u64 {
        self.stride.saturating_mul(self.size)
    }

    /// The part of the digit between the strides `low` and `high` of its slot.
    pub(crate) fn part(self, low: u64, high: u64) -> Digit {
        Digit { slot: self.slot, stride: low, size: high / low }
    }

    /// Whether `minor` continues this digit, so that both together are one digit.
    pub(crate) fn joins(self, minor: Digit) -> bool {
        self.slot == minor.slot && self.stride == minor.end()
    }
}

/// Appends a digit to a number as its most minor digit. Digits of size 1 are dropped, and digits that form one digit are merged.
pub(crate) fn push(number: &mut Digits, digit: Digit) {
    if digit.size == 1 {
        return;
    }
    match number.last_mut() {
        Some(last) if last.joins(digit) => *last = Digit { size: last.size * digit.size, ..digit },
        _ => number.push(digit),
    }
}

/// The product of the sizes of digits.
pub(crate) fn count(number: &[Digit]) -> u64 {
    number.iter().map(|digit| digit.size).product()
}

/// Replaces a digit of a position by digits of `number`, which is the same position in another form. `None` if a boundary of the digit is
/// inside a digit of `number` that it does not divide.
pub(crate) fn replace(digit: Digit, number: &[Digit], out: &mut Digits) -> Option<()> {
    // The stride of each digit of `number` in the position, from major to minor.
    let mut stride = count(number);
    for part in number {
        let end = stride;
        stride /= part.size.max(1);
        let (low, high) = (stride.max(digit.stride), end.min(digit.end()));
        if low >= high {
            continue;
        }
        let fits = low.is_multiple_of(stride) && high.is_multiple_of(low) && end.is_multiple_of(high);
        if !fits {
            return None;
        }
        let piece = Digit { slot: part.slot, stride: part.stride * (low / stride), size: high / low };
        push(out, piece);
    }
    (digit.end() <= count(number)).then_some(())
}

/// The boundaries at which digits of one slot must be split so that all of them are made of the same parts. `None` if they are not a chain
/// of divisors.
pub(crate) fn chain(mut bounds: Vec<u64>) -> Option<Vec<u64>> {
    bounds.sort_unstable();
    bounds.dedup();
    let divides =
        bounds.windows(2).all(|pair| matches!(pair, [low, high] if *low > 0 && high.is_multiple_of(*low)));
    divides.then_some(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digit(slot: u32, stride: u64, size: u64) -> Digit {
        Digit { slot, stride, size }
    }

    /// The value of a number at positions of slots 0 to 2.
    fn value(number: &[Digit], at: [u64; 3]) -> u64 {
        number.iter().fold(0, |sum, d| sum * d.size + at[d.slot as usize] / d.stride % d.size)
    }

    #[test]
    fn a_replaced_digit_has_the_same_value() {
        // Slot 0 has 24 positions, which are a number with digits of slots 1 (size 6) and 2 (size 4).
        let number = [digit(1, 1, 6), digit(2, 1, 4)];
        for old in [digit(0, 1, 24), digit(0, 2, 2), digit(0, 4, 3), digit(0, 2, 4), digit(0, 12, 2)] {
            let mut new = Digits::new();
            replace(old, &number, &mut new).unwrap();
            for one in 0..6 {
                for two in 0..4 {
                    let position = value(&number, [0, one, two]);
                    assert_eq!(value(&[old], [position, 0, 0]), value(&new, [0, one, two]), "{old:?}");
                }
            }
        }
        assert_eq!(replace(digit(0, 3, 4), &number, &mut Digits::new()), None, "3 does not divide 4");
        assert_eq!(
            replace(digit(0, 1, 48), &number, &mut Digits::new()),
            None,
            "there are only 24 positions"
        );
    }
}
