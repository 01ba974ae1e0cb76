//! Integers that devices compute from their ID, as functions of a few mixed-radix digits of the ID.
//!
//! Typical integers are coordinates, `(id / stride) % size`, and offsets, which are multiples of coordinates. An integer is represented
//! as a table over the digits on which it depends. If the table would be too large, the integer is represented as a linear function of
//! the digits; other integers are unknown.

use std::rc::Rc;

use shardc_ir::{BinaryOp, DType, DTypeClass, Digit, Module, OpId, OpKind, ValueId};
use smallvec::SmallVec;

use super::agreement::Agreement;
use crate::analysis::device_scalars::{PerDevice, constant, evaluate};

/// The maximum number of entries of a table.
const MAX_ENTRIES: usize = 4096;

/// An integer that may differ between devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    depends_on: Agreement,
    values: Values,
}

#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// A value for each combination of the digits on which the number depends; the most significant digit varies
    /// slowest.
    Table(PerDevice),
    /// The integer is `base` plus, for each digit on which it depends, the digit times its entry in `factors`. Used if a table would be too
    /// large.
    Sum { base: i64, factors: SmallVec<[i64; 6]> },
}

impl Number {
    /// Returns the device ID digits on which the number depends.
    pub(super) fn depends_on(&self) -> Agreement {
        self.depends_on
    }
}

/// Evaluates integers as functions of the digits of the device ID.
pub(super) struct Numbers {
    digits: Vec<Digit>,
}

impl Numbers {
    pub(super) fn new(digits: &[Digit]) -> Numbers {
        Numbers { digits: digits.to_vec() }
    }

    /// Returns the device ID with all digits set to zero except `digits`.
    pub(super) fn own(&self, digits: Agreement) -> Number {
        let factors = self.chosen(digits).map(|(_, digit)| i64::from(digit.stride)).collect();
        self.sum(digits, 0, factors)
    }

    /// Returns the integer that `op` computes from constants and `known` integers. Returns `None` if the result is not
    /// an integer, is unknown, or depends on too many digits.
    pub(super) fn evaluate(
        &self,
        module: &Module,
        op: OpId,
        known: &dyn Fn(ValueId) -> Option<Number>,
    ) -> Option<Number> {
        let data = &module.ops[op];
        let operands: SmallVec<[Option<Number>; 4]> = data.operands.iter().map(|&v| known(v)).collect();
        let depends_on = operands.iter().flatten().fold(Agreement::ALIKE, |all, n| all.and(n.depends_on));
        let Some(entries) = self.entries(depends_on) else { return self.linear(module, op, &operands) };
        let table = |v: ValueId| -> Option<PerDevice> {
            let at = data.operands.iter().position(|&operand| operand == v)?;
            Some(self.table(operands.get(at)?.as_ref()?, depends_on, entries))
        };
        Some(self.normalized(depends_on, evaluate(module, op, entries, table)?))
    }

    /// Returns the digits of a set with their indices, least significant first.
    fn chosen(&self, of: Agreement) -> impl Iterator<Item = (usize, Digit)> {
        self.digits.iter().copied().enumerate().filter(move |&(at, _)| of.has_digit(at))
    }

    /// Returns the number of entries of a table over `digits`, or `None` if a table would be too large.
    fn entries(&self, digits: Agreement) -> Option<usize> {
        self.chosen(digits).try_fold(1_usize, |entries, (_, digit)| {
            entries.checked_mul(digit.size as usize).filter(|&entries| entries <= MAX_ENTRIES)
        })
    }

    /// Returns a number as a table over a superset of the digits on which it depends.
    fn table(&self, number: &Number, digits: Agreement, entries: usize) -> PerDevice {
        let value = |entry: usize| {
            let (mut rest, mut index, mut below) = (entry, 0, 1);
            let mut total = 0;
            let mut at = 0;
            for (digit, Digit { size, .. }) in self.chosen(digits) {
                let size = size as usize;
                let coordinate = rest % size;
                rest /= size;
                if !number.depends_on.has_digit(digit) {
                    continue;
                }
                if let Values::Sum { factors, .. } = &number.values {
                    total += coordinate as i64 * factors.get(at).copied().unwrap_or(0);
                }
                index += coordinate * below;
                below *= size;
                at += 1;
            }
            match &number.values {
                Values::Table(table) => table.get(index).copied().unwrap_or(0),
                Values::Sum { base, .. } => base + total,
            }
        };
        (0..entries).map(value).collect()
    }

    /// Removes digits on which a table does not depend.
    fn normalized(&self, mut digits: Agreement, mut table: PerDevice) -> Number {
        for (at, Digit { size, .. }) in self.chosen(digits).collect::<SmallVec<[(usize, Digit); 8]>>() {
            let below: usize = self
                .chosen(digits)
                .take_while(|&(other, _)| other < at)
                .map(|(_, d)| d.size as usize)
                .product();
            let first = |entry: usize| entry - entry / below % size as usize * below;
            if (0..table.len()).all(|entry| table[entry] == table[first(entry)]) {
                table = (0..table.len()).filter(|&entry| first(entry) == entry).map(|e| table[e]).collect();
                digits = digits.without(Agreement::ALIKE.with_digit(at));
            }
        }
        Number { depends_on: digits, values: Values::Table(Rc::clone(&table)) }
    }

    /// Returns `base` plus, for each digit in `digits`, the digit times its entry in `factors`.
    fn sum(&self, mut digits: Agreement, base: i64, factors: SmallVec<[i64; 6]>) -> Number {
        let all: SmallVec<[(usize, Digit); 8]> = self.chosen(digits).collect();
        for ((at, _), _) in all.iter().zip(&factors).filter(|&(_, &factor)| factor == 0) {
            digits = digits.without(Agreement::ALIKE.with_digit(*at));
        }
        let factors = factors.into_iter().filter(|&factor| factor != 0).collect();
        let number = Number { depends_on: digits, values: Values::Sum { base, factors } };
        match self.entries(digits) {
            Some(entries) => self.normalized(digits, self.table(&number, digits, entries)),
            None => number,
        }
    }

    /// Evaluates operations whose results are linear in the digits if the operands are.
    fn linear(&self, module: &Module, op: OpId, operands: &[Option<Number>]) -> Option<Number> {
        let data = &module.ops[op];
        let &[result] = data.results.as_slice() else { return None };
        let ty = module.tensor(result)?;
        let is_integer = ty.dtype.is_integer() && ty.dtype != DType::I1 && ty.dtype != DType::UI64;
        if ty.num_elements() != Some(1) || !is_integer || !data.regions.is_empty() {
            return None;
        }
        let sum = |at: usize| Linear::of(self, operands.get(at)?.as_ref()?);
        let fixed = |at: usize| constant(module, *data.operands.get(at)?);
        let made = match &data.kind {
            OpKind::Convert | OpKind::Reshape | OpKind::BroadcastInDim { .. } => sum(0)?,
            OpKind::Binary(BinaryOp::Add) => match (sum(0), sum(1)) {
                (Some(a), Some(b)) => a.plus(&b, 1)?,
                (Some(a), None) => a.moved(fixed(1)?)?,
                (None, Some(b)) => b.moved(fixed(0)?)?,
                (None, None) => return None,
            },
            OpKind::Binary(BinaryOp::Subtract) => match (sum(0), sum(1)) {
                (Some(a), Some(b)) => a.plus(&b, -1)?,
                (Some(a), None) => a.moved(fixed(1)?.checked_neg()?)?,
                (None, _) => return None,
            },
            OpKind::Binary(BinaryOp::Multiply) => match (sum(0), sum(1)) {
                (Some(a), None) => a.times(fixed(1)?)?,
                (None, Some(b)) => b.times(fixed(0)?)?,
                _ => return None,
            },
            OpKind::Binary(BinaryOp::Divide) => sum(0)?.divided(self, fixed(1)?)?.0,
            OpKind::Binary(BinaryOp::Remainder) => sum(0)?.divided(self, fixed(1)?)?.1,
            _ => return None,
        };
        let (least, most) = made.range(self)?;
        let bits = ty.dtype.bits();
        let bounds = match ty.dtype.class() {
            DTypeClass::Signed => -(1_i128 << (bits - 1))..1_i128 << (bits - 1),
            _ => 0..1_i128 << bits,
        };
        if !bounds.contains(&i128::from(least)) || !bounds.contains(&i128::from(most)) {
            return None;
        }
        let all = (0..self.digits.len()).fold(Agreement::ALIKE, Agreement::with_digit);
        Some(self.sum(all, made.base, made.factors))
    }
}

/// A linear function of all digits.
#[derive(Clone, Debug)]
struct Linear {
    base: i64,
    factors: SmallVec<[i64; 6]>,
}

impl Linear {
    /// Returns a number as a linear function of all digits; `None` for a table that is not linear.
    fn of(numbers: &Numbers, number: &Number) -> Option<Linear> {
        let mut factors = SmallVec::from_elem(0, numbers.digits.len());
        match &number.values {
            Values::Sum { base, factors: given } => {
                for ((at, _), &factor) in numbers.chosen(number.depends_on).zip(given) {
                    factors[at] = factor;
                }
                Some(Linear { base: *base, factors })
            }
            Values::Table(table) => match table.as_ref() {
                &[base] => Some(Linear { base, factors }),
                _ => Self::of_table(numbers, number.depends_on, table),
            },
        }
    }

    /// Returns a per-device table as a linear function of the device ID digits, if it is linear.
    fn of_table(numbers: &Numbers, digits: Agreement, table: &PerDevice) -> Option<Linear> {
        let mut factors: SmallVec<[i64; 6]> = SmallVec::from_elem(0, numbers.digits.len());
        let base = *table.first()?;
        let mut below = 1;
        for (at, digit) in numbers.chosen(digits) {
            factors[at] = table.get(below)?.checked_sub(base)?;
            below *= digit.size as usize;
        }
        let (own, some) = (numbers.sum_unchecked(digits, base, &factors), table);
        (numbers.table(&own, digits, some.len()) == *some).then_some(Linear { base, factors })
    }

    fn plus(&self, other: &Linear, sign: i64) -> Option<Linear> {
        let add = |a: i64, b: i64| a.checked_add(b.checked_mul(sign)?);
        let factors = self.factors.iter().zip(&other.factors).map(|(&a, &b)| add(a, b));
        Some(Linear { base: add(self.base, other.base)?, factors: factors.collect::<Option<_>>()? })
    }

    fn moved(mut self, by: i64) -> Option<Linear> {
        self.base = self.base.checked_add(by)?;
        Some(self)
    }

    fn times(&self, by: i64) -> Option<Linear> {
        let factors = self.factors.iter().map(|factor| factor.checked_mul(by));
        Some(Linear { base: self.base.checked_mul(by)?, factors: factors.collect::<Option<_>>()? })
    }

    /// Returns the quotient and the remainder of a division by `by`. Returns `None` unless each digit contributes to only one of the two.
    fn divided(&self, numbers: &Numbers, by: i64) -> Option<(Linear, Linear)> {
        if by <= 0 || self.base < 0 || self.factors.iter().any(|&factor| factor < 0) {
            return None;
        }
        let in_quotient = |factor: i64| factor % by == 0;
        let quotient = self.factors.iter().map(|&f| if in_quotient(f) { f / by } else { 0 }).collect();
        let rest = self.factors.iter().map(|&f| if in_quotient(f) { 0 } else { f }).collect();
        let rest = Linear { base: self.base % by, factors: rest };
        let fits = rest.range(numbers)?.1 < by;
        fits.then_some((Linear { base: self.base / by, factors: quotient }, rest))
    }

    /// Returns the minimum and maximum value.
    fn range(&self, numbers: &Numbers) -> Option<(i64, i64)> {
        let mut range = (self.base, self.base);
        for (digit, &factor) in numbers.digits.iter().zip(&self.factors) {
            let most = factor.checked_mul(i64::from(digit.size) - 1)?;
            range = (range.0.checked_add(most.min(0))?, range.1.checked_add(most.max(0))?);
        }
        Some(range)
    }
}

impl Numbers {
    /// Returns a `Sum` even if a table would be small.
    fn sum_unchecked(&self, digits: Agreement, base: i64, factors: &[i64]) -> Number {
        let factors = self.chosen(digits).map(|(at, _)| factors.get(at).copied().unwrap_or(0)).collect();
        Number { depends_on: digits, values: Values::Sum { base, factors } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Device IDs of 2^20 devices in the mixed radix `[1024, 512, 2]`.
    fn numbers() -> Numbers {
        let digit = |stride, size| Digit { stride, size };
        Numbers::new(&[digit(1, 2), digit(2, 512), digit(1024, 1024)])
    }

    fn set(digits: &[usize]) -> Agreement {
        digits.iter().fold(Agreement::ALIKE, |set, &digit| set.with_digit(digit))
    }

    #[test]
    fn coordinates_are_quotients_and_remainders() {
        let numbers = numbers();
        let own = Linear::of(&numbers, &numbers.own(set(&[0, 1, 2]))).expect("a sum");
        let (row, column) = own.divided(&numbers, 1024).expect("digits of either");
        assert_eq!((row.factors.to_vec(), column.factors.to_vec()), (vec![0, 0, 1], vec![1, 2, 0]));
        let (half, last) = column.divided(&numbers, 2).expect("digits of either");
        assert_eq!((half.factors.to_vec(), last.factors.to_vec()), (vec![0, 1, 0], vec![1, 0, 0]));
        assert!(own.divided(&numbers, 512).is_none(), "part of a digit");
        assert_eq!(own.times(3).and_then(|n| n.range(&numbers)), Some((0, 3 * ((1 << 20) - 1))));
    }

    #[test]
    fn tables_depend_only_on_relevant_coordinates() {
        let numbers = numbers();
        let halves: PerDevice = (0..1024).map(|entry| entry % 2 * 7).collect();
        let number = numbers.normalized(set(&[0, 1]), halves);
        assert_eq!(number, Number { depends_on: set(&[0]), values: Values::Table([0, 7].into()) });
        assert_eq!(numbers.normalized(set(&[2]), vec![5; 1024].into()).depends_on(), Agreement::ALIKE);
        let row = numbers.own(set(&[2]));
        assert_eq!(row.depends_on(), set(&[2]));
        let linear = Linear::of(&numbers, &row).expect("counts up");
        assert_eq!(linear.factors.to_vec(), [0, 0, 1024]);
    }
}
