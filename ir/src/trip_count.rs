//! Trip counts of `while` loops that can be computed at compile time.
//!
//! A loop has a known trip count if its condition compares a carried counter (plus a constant) with a bound, and the body adds a step to
//! the counter. Start, bound and step are integers that `Scalars` evaluates: constants, invariant carried values, and integer arithmetic
//! on these. JAX emits constants for `scan` and `fori_loop`. Reactant carries start, stop and step, and computes the trip count in the
//! condition. Any other loop has an unknown trip count.

use crate::{
    BinaryOp, CompareDirection, DType, DTypeClass, Dense, Module, OpId, OpKind, RegionId, SecondaryMap,
    UnaryOp, ValueDef, ValueId,
};

/// The assumed trip count of loops with an unknown trip count.
const UNKNOWN: u64 = 8;

/// Returns the trip count of the loop `op`, or the assumed trip count if it is unknown.
pub fn trips(module: &Module, op: OpId) -> u64 {
    known_trips(module, op).unwrap_or(UNKNOWN)
}

/// Returns the number of executions of each operation under `region` for one execution of the region: the product of the enclosing trip
/// counts.
pub fn run_counts(module: &Module, region: RegionId) -> SecondaryMap<OpId, u64> {
    let mut counts = SecondaryMap::new();
    let mut todo = vec![(region, 1u64)];
    while let Some((region, runs)) = todo.pop() {
        for &op in &module.regions[region].ops {
            counts[op] = runs;
            let data = &module.ops[op];
            let inside = match data.kind {
                OpKind::While => runs.saturating_mul(trips(module, op)),
                _ => runs,
            };
            todo.extend(data.regions.iter().map(|&inner| (inner, inside)));
        }
    }
    counts
}

/// Whether the body of a loop is known to run at least once.
pub fn runs(module: &Module, op: OpId) -> bool {
    known_trips(module, op).is_some_and(|trips| trips > 0)
}

/// Returns the trip count of the loop `op`, if it is known.
pub fn known_trips(module: &Module, op: OpId) -> Option<u64> {
    let data = &module.ops[op];
    let &[cond, _] = data.regions.as_slice() else { return None };
    if !matches!(data.kind, OpKind::While) {
        return None;
    }
    let scalars = Scalars { module, op };
    let compare = &module.ops[module.def_op(returned(module, cond, 0)?)?];
    let (&OpKind::Compare(direction, _), &[left, right]) = (&compare.kind, compare.operands.as_slice())
    else {
        return None;
    };
    let ((counter, offset), direction, bound) = match scalars.value(right) {
        Some(bound) => (scalars.counter(cond, left)?, direction, bound),
        // The counter may be the right operand: `10 > i` is treated as `i < 10`.
        None => (scalars.counter(cond, right)?, mirrored(direction), scalars.value(left)?),
    };
    let start = scalars.value(*data.operands.get(counter)?)?.checked_add(offset)?;
    let step = scalars.step(counter)?;
    let distance = bound.checked_sub(start)?;
    let (distance, step) = match direction {
        CompareDirection::LT if step > 0 => (distance, step),
        CompareDirection::LE if step > 0 => (distance.checked_add(1)?, step),
        CompareDirection::GT if step < 0 => (-distance, -step),
        CompareDirection::GE if step < 0 => (1 - distance, -step),
        // If the step does not divide the distance, the counter skips the bound, and the loop continues until the
        // counter wraps around.
        CompareDirection::NE if distance.checked_rem(step)? == 0 && distance / step >= 0 => {
            (distance / step, 1)
        }
        _ => return None,
    };
    u64::try_from(distance.max(0)).ok().map(|n| n.div_ceil(step.unsigned_abs()))
}

/// Returns the start and the step of carried value `i` of the loop `op`, if it is a counter.
#[must_use]
pub fn counter(module: &Module, op: OpId, i: usize) -> Option<(i64, i64)> {
    let scalars = Scalars { module, op };
    Some((scalars.value(*module.ops[op].operands.get(i)?)?, scalars.step(i)?))
}

/// The largest number of operations that one evaluation visits. Conditions have few operations, but the same operation may be visited many
/// times, on different paths.
const MAX_VISITS: usize = 64;

/// Evaluates integer scalars that the loop `op` reads, in its regions or before it.
struct Scalars<'a> {
    module: &'a Module,
    op: OpId,
}

impl Scalars<'_> {
    /// Returns the value of a loop-invariant integer; `None` if it cannot be computed, or the computation may wrap around.
    fn value(&self, value: ValueId) -> Option<i64> {
        self.evaluate(value, &mut 0)
    }

    fn evaluate(&self, value: ValueId, visits: &mut usize) -> Option<i64> {
        *visits += 1;
        if *visits > MAX_VISITS {
            return None;
        }
        let module = self.module;
        let Some(producer) = module.def_op(value) else {
            return self.evaluate(self.initial(value)?, visits);
        };
        let data = &module.ops[producer];
        let mut operand = |i: usize| self.evaluate(*data.operands.get(i)?, visits);
        let n = match &data.kind {
            OpKind::Constant(_) => integer(module, value)?,
            // The operand is a scalar or a splat. A conversion that changes the number is rejected below.
            OpKind::Convert | OpKind::Reshape | OpKind::BroadcastInDim { .. } => operand(0)?,
            OpKind::Unary(UnaryOp::Negate) => operand(0)?.checked_neg()?,
            OpKind::Binary(op) => op.on_integers(operand(0)?, operand(1)?)?,
            OpKind::Clamp => operand(1)?.max(operand(0)?).min(operand(2)?),
            _ => return None,
        };
        fits(n, module.tensor(value)?.dtype).then_some(n)
    }

    /// Returns the initial value of an invariant region argument: one that the body returns unchanged.
    fn initial(&self, value: ValueId) -> Option<ValueId> {
        let data = &self.module.ops[self.op];
        let i = data.regions.iter().find_map(|&region| argument(self.module, region, value))?;
        let body = *data.regions.get(1)?;
        let is_unchanged = argument(self.module, body, returned(self.module, body, i)?) == Some(i);
        data.operands.get(i).copied().filter(|_| is_unchanged)
    }

    /// Returns the carried value that the condition reads as `value`, and the constant that the condition adds to it.
    fn counter(&self, cond: RegionId, value: ValueId) -> Option<(usize, i64)> {
        let (mut value, mut offset) = (value, 0i64);
        for _ in 0..MAX_VISITS {
            if let Some(i) = argument(self.module, cond, value) {
                return Some((i, offset));
            }
            let data = &self.module.ops[self.module.def_op(value)?];
            let added;
            (value, added) = match (&data.kind, data.operands.as_slice()) {
                (OpKind::Convert | OpKind::Reshape, &[operand]) => (operand, 0),
                (OpKind::Binary(BinaryOp::Add), &[a, b]) => match self.value(b) {
                    Some(n) => (a, n),
                    None => (b, self.value(a)?),
                },
                (OpKind::Binary(BinaryOp::Subtract), &[a, b]) => (a, self.value(b)?.checked_neg()?),
                _ => return None,
            };
            offset = offset.checked_add(added)?;
        }
        None
    }

    /// Returns the step that the body adds to its argument `counter`.
    fn step(&self, counter: usize) -> Option<i64> {
        let module = self.module;
        let body = *module.ops[self.op].regions.get(1)?;
        let next = &module.ops[module.def_op(returned(module, body, counter)?)?];
        let &[a, b] = next.operands.as_slice() else { return None };
        let is_counter = |value| argument(module, body, value) == Some(counter);
        match next.kind {
            OpKind::Binary(BinaryOp::Add) if is_counter(a) => self.value(b),
            OpKind::Binary(BinaryOp::Add) if is_counter(b) => self.value(a),
            OpKind::Binary(BinaryOp::Subtract) if is_counter(a) => self.value(b)?.checked_neg(),
            _ => None,
        }
    }
}

/// Whether an integer type can represent this number. Only numbers of at most 32 bits are accepted, so that sums of two do not overflow.
fn fits(n: i64, dtype: DType) -> bool {
    let bits = dtype.bits().min(32);
    match dtype.class() {
        // A wider signed type can also represent the numbers of `ui32`.
        DTypeClass::Signed if dtype.bits() > 32 => (i32::MIN.into()..=u32::MAX.into()).contains(&n),
        DTypeClass::Signed => (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&n),
        DTypeClass::Unsigned => (0..1i64 << bits).contains(&n),
        _ => false,
    }
}

fn returned(module: &Module, region: RegionId, i: usize) -> Option<ValueId> {
    module.ops[module.terminator(region)?].operands.get(i).copied()
}

/// Returns the index of `value` among the arguments of `region`; `None` if it is not an argument of `region`.
fn argument(module: &Module, region: RegionId, value: ValueId) -> Option<usize> {
    match module.values[value].def() {
        ValueDef::Arg(of, i) if of == region => Some(i as usize),
        ValueDef::Arg(..) | ValueDef::Result(..) => None,
    }
}

/// Returns the equivalent comparison with swapped operands.
fn mirrored(direction: CompareDirection) -> CompareDirection {
    match direction {
        CompareDirection::LT => CompareDirection::GT,
        CompareDirection::LE => CompareDirection::GE,
        CompareDirection::GT => CompareDirection::LT,
        CompareDirection::GE => CompareDirection::LE,
        CompareDirection::EQ | CompareDirection::NE => direction,
    }
}

/// Returns a constant integer of at most 32 bits, so that sums and differences do not overflow.
fn integer(module: &Module, value: ValueId) -> Option<i64> {
    let op = &module.ops[module.def_op(value)?];
    let OpKind::Constant(Dense::Splat(bytes)) = &op.kind else { return None };
    let dtype = module.tensor(value)?.dtype;
    let negative = match dtype.class() {
        DTypeClass::Signed => bytes.last().is_some_and(|&b| b >= 0x80),
        DTypeClass::Unsigned => false,
        _ => return None,
    };
    let mut word = if negative { [0xff; 8] } else { [0; 8] };
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let n = i64::from_le_bytes(word);
    (i32::MIN.into()..=u32::MAX.into()).contains(&n).then_some(n)
}
