//! Trip counts of loops, where the text says so.
//!
//! A loop counts if its condition compares one of its values with a constant, the value starts from a constant, and the
//! body adds a constant to it: what `scan` and `fori_loop` print. Any other loop runs an unknown number of times.

use crate::{
    BinaryOp, CompareDirection, DTypeClass, Dense, Module, OpId, OpKind, RegionId, SecondaryMap, ValueDef,
    ValueId,
};

/// The trip count that is assumed where the text does not say.
const UNKNOWN: u64 = 8;

/// Returns the trip count of the loop `op`; a guess where the program does not say.
pub fn trips(module: &Module, op: OpId) -> u64 {
    known_trips(module, op).unwrap_or(UNKNOWN)
}

/// Returns how often each operation under `region` runs when the region runs once: the product of the trip counts around it.
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

/// Whether a loop is known to run at least once.
pub fn runs(module: &Module, op: OpId) -> bool {
    known_trips(module, op).is_some_and(|trips| trips > 0)
}

/// Returns the trip count of the loop `op`, if it counts.
pub fn known_trips(module: &Module, op: OpId) -> Option<u64> {
    let data = &module.ops[op];
    let &[cond, body] = data.regions.as_slice() else { return None };
    if !matches!(data.kind, OpKind::While) {
        return None;
    }
    let compare = &module.ops[module.def_op(returned(module, cond, 0)?)?];
    let (&OpKind::Compare(direction, _), &[left, right]) = (&compare.kind, compare.operands.as_slice())
    else {
        return None;
    };
    // A bound may be a constant, or be carried along without change.
    let bound = |value| match argument(module, cond, value) {
        Some(i) if argument(module, body, returned(module, body, i)?) == Some(i) => {
            integer(module, *data.operands.get(i)?)
        }
        Some(_) => None,
        None => integer(module, value),
    };
    let (counter, direction, bound) = match bound(right) {
        Some(bound) => (argument(module, cond, left)?, direction, bound),
        // `10 > i` is `i < 10`.
        None => (argument(module, cond, right)?, mirrored(direction), bound(left)?),
    };
    let start = integer(module, *data.operands.get(counter)?)?;
    let step = step(module, body, counter)?;
    let distance = bound.checked_sub(start)?;
    let (distance, step) = match direction {
        CompareDirection::LT if step > 0 => (distance, step),
        CompareDirection::LE if step > 0 => (distance.checked_add(1)?, step),
        CompareDirection::GT if step < 0 => (-distance, -step),
        CompareDirection::GE if step < 0 => (1 - distance, -step),
        // Otherwise the counter steps over the bound, and the loop goes on until it wraps.
        CompareDirection::NE if distance.checked_rem(step)? == 0 && distance / step >= 0 => {
            (distance / step, 1)
        }
        _ => return None,
    };
    u64::try_from(distance.max(0)).ok().map(|n| n.div_ceil(step.unsigned_abs()))
}

/// Returns where the carried value `i` of the loop `op` starts and what each trip adds to it, if it counts.
#[must_use]
pub fn counter(module: &Module, op: OpId, i: usize) -> Option<(i64, i64)> {
    let data = &module.ops[op];
    let &[_, body] = data.regions.as_slice() else { return None };
    Some((integer(module, *data.operands.get(i)?)?, step(module, body, i)?))
}

/// Returns what the body adds to its argument `counter` for the next trip.
fn step(module: &Module, body: RegionId, counter: usize) -> Option<i64> {
    let next = &module.ops[module.def_op(returned(module, body, counter)?)?];
    let &[a, b] = next.operands.as_slice() else { return None };
    let is_counter = |value| argument(module, body, value) == Some(counter);
    match next.kind {
        OpKind::Binary(BinaryOp::Add) if is_counter(a) => integer(module, b),
        OpKind::Binary(BinaryOp::Add) if is_counter(b) => integer(module, a),
        OpKind::Binary(BinaryOp::Subtract) if is_counter(a) => integer(module, b)?.checked_neg(),
        _ => None,
    }
}

fn returned(module: &Module, region: RegionId, i: usize) -> Option<ValueId> {
    module.ops[module.terminator(region)?].operands.get(i).copied()
}

/// Which argument of the region a value is.
fn argument(module: &Module, region: RegionId, value: ValueId) -> Option<usize> {
    match module.values[value].def() {
        ValueDef::Arg(of, i) if of == region => Some(i as usize),
        ValueDef::Arg(..) | ValueDef::Result(..) => None,
    }
}

/// Returns the comparison that says as much with its sides exchanged.
fn mirrored(direction: CompareDirection) -> CompareDirection {
    match direction {
        CompareDirection::LT => CompareDirection::GT,
        CompareDirection::LE => CompareDirection::GE,
        CompareDirection::GT => CompareDirection::LT,
        CompareDirection::GE => CompareDirection::LE,
        CompareDirection::EQ | CompareDirection::NE => direction,
    }
}

/// Returns a constant integer; no larger than 32 bits, so that sums and differences of them do not overflow.
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
