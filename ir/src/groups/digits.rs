//! Mixed-radix digits. A device id is a mixed-radix number whose digits are its coordinates along axes.

use smallvec::SmallVec;

/// A digit of a mixed-radix number: `(number / stride) % size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digit {
    /// The difference between numbers that differ by one in this digit.
    pub stride: u32,
    /// The number of values of the digit; at least two.
    pub size: u32,
}

/// Digits of a mixed-radix number, in the order of a counter: the last digit varies fastest. Adjacent digits that together form one digit
/// are always merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Digits(pub(super) SmallVec<[Digit; 3]>);

impl Digit {
    /// Returns the stride of the next more major digit, `stride * size`. In a multiple of that stride, this digit and all more minor digits
    /// are zero.
    #[must_use]
    pub fn end(self) -> u64 {
        u64::from(self.stride) * u64::from(self.size)
    }

    /// Whether two digits can belong to the same mixed-radix system, so that they vary independently.
    #[must_use]
    pub fn is_apart_from(self, other: Digit) -> bool {
        u64::from(self.stride).is_multiple_of(other.end())
            || u64::from(other.stride).is_multiple_of(self.end())
    }
}

impl Digits {
    /// Creates the digits, with adjacent ones merged; `None` if the product of their sizes exceeds 32 bits.
    pub(super) fn new(digits: impl IntoIterator<Item = Digit>) -> Option<Digits> {
        let mut merged: SmallVec<[Digit; 3]> = SmallVec::new();
        for digit in digits.into_iter().filter(|digit| digit.size != 1) {
            match merged.last_mut() {
                Some(major) if u64::from(major.stride) == u64::from(digit.stride) * u64::from(digit.size) => {
                    *major = Digit { stride: digit.stride, size: major.size.checked_mul(digit.size)? };
                }
                _ => merged.push(digit),
            }
        }
        Some(Digits(merged))
    }

    /// Returns mixed-radix digits (each with a stride and a size) whose counter, from zero upwards, yields `ids` in order. `None` if
    /// `ids` does not have this form.
    pub(super) fn read(ids: impl ExactSizeIterator<Item = i64> + Clone) -> Option<Digits> {
        let mut digits: SmallVec<[Digit; 3]> = SmallVec::new();
        let (mut period, count) = (1, ids.len());
        while period < count {
            // The stride of the next digit is the value after one period of the previous digits. Its size is the number of multiples of the
            // stride before the pattern ends.
            let stride = u32::try_from(ids.clone().nth(period)?).ok().filter(|&stride| stride > 0)?;
            let multiples = ids.clone().step_by(period).zip(0..);
            let size = multiples.take_while(|&(id, i)| id == i * i64::from(stride)).count();
            digits.insert(0, Digit { stride, size: u32::try_from(size).ok().filter(|&size| size > 1)? });
            period *= size;
        }
        (period == count).then(|| Digits::new(digits))?
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|digit| digit.size as usize).product()
    }

    pub(super) fn at(&self, mut index: usize) -> i64 {
        let mut value = 0;
        for digit in self.0.iter().rev() {
            let size = digit.size as usize;
            value += (index % size) as i64 * i64::from(digit.stride);
            index /= size;
        }
        value
    }

    /// Returns the number that these digits of `number` form, with the last digit as the most minor one. Other digits of `number` are
    /// ignored.
    pub(super) fn index_of(&self, number: i64) -> usize {
        self.0.iter().fold(0, |index, digit| {
            let (stride, size) = (i64::from(digit.stride), i64::from(digit.size));
            index * digit.size as usize + ((number / stride) % size) as usize
        })
    }

    pub(super) fn values(&self) -> DigitValues<'_> {
        DigitValues {
            digits: self,
            next: 0,
            left: self.count(),
            counts: SmallVec::from_elem(0, self.0.len()),
        }
    }
}

/// An iterator over all numbers that the digits represent; the last digit varies fastest.
#[derive(Clone)]
pub(super) struct DigitValues<'a> {
    digits: &'a Digits,
    next: i64,
    left: usize,
    counts: SmallVec<[u32; 3]>,
}

impl Iterator for DigitValues<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        for (count, digit) in self.counts.iter_mut().zip(&self.digits.0).rev() {
            *count += 1;
            self.next += i64::from(digit.stride);
            if *count < digit.size {
                break;
            }
            self.next -= i64::from(digit.stride) * i64::from(digit.size);
            *count = 0;
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for DigitValues<'_> {}
