//! Simplifies cotangents of stacked tensors in loops in which each iteration reads or writes its own slot, that is, a slice that no other
//! iteration reads or writes.
//!
//! If the loop writes a stacked tensor, each slot of its cotangent is read once, so slots need not be set to zero afterwards. If the loop
//! reads a stacked tensor, each slot of its cotangent is written once, so the contribution need not be added to zeros.

use rustc_hash::FxHashMap;
use shardc_ir::trip_count::counter;
use shardc_ir::{BinaryOp, CompareDirection, Dense, Module, OpId, OpKind, UnaryOp, ValueDef, ValueId};

use crate::emit::{Arithmetic, Emit};
use crate::replace::for_each_under;

/// The transposed body of the loop `op`, and the values that it returns.
pub(super) struct Body<'a> {
    pub(super) module: &'a mut Module,
    /// The forward loop.
    pub(super) op: OpId,
    /// The trip count.
    pub(super) trips: i64,
    /// The transposed body.
    pub(super) ops: &'a mut Vec<OpId>,
    /// The values that the transposed body returns.
    pub(super) next: &'a mut Vec<ValueId>,
}

/// A cotangent that the backward loop carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// The argument of the transposed body that holds the cotangent.
    pub(super) arg: ValueId,
    /// Whether the cotangent is zero before the first backward iteration.
    pub(super) from_zero: bool,
    /// Whether the cotangent has users after the last iteration.
    pub(super) is_read: bool,
}

/// Removes operations that set slots of carried cotangents to zero after they are read, and additions of written slots to zeros. Returns
/// for each carried cotangent whether it is zero after the loop, regardless of what the loop returns.
pub(super) fn simplify(mut body: Body<'_>, carried: &[Carried]) -> Vec<bool> {
    let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
    for_each_under(body.module, body.ops, |op| {
        for &value in &body.module.ops[op].operands {
            users.entry(value).or_default().push(op);
        }
    });
    let mut gone = vec![false; carried.len()];
    for (i, of) in carried.iter().enumerate() {
        let is_returned_once =
            body.next.iter().filter(|&&v| v == body.next[i]).count() == 1 && !body.next.contains(&of.arg);
        if is_returned_once {
            gone[i] = body.read_only(i, *of, &users);
            body.written_only(i, *of, &users);
        }
    }
    gone
}

impl Body<'_> {
    fn made(&self, value: ValueId) -> Option<(OpId, &OpKind, &[ValueId])> {
        let op = self.module.def_op(value)?;
        let data = &self.module.ops[op];
        Some((op, &data.kind, &data.operands))
    }

    /// If the body returns `arg` with zeros in the slot that this iteration reads, and nothing else reads `arg`, makes the body return
    /// `arg` itself. Returns whether the body was changed.
    fn read_only(&mut self, i: usize, of: Carried, users: &FxHashMap<ValueId, Vec<OpId>>) -> bool {
        let Some((op, OpKind::DynamicUpdateSlice, operands)) = self.made(self.next[i]) else { return false };
        let is_emptied = operands[0] == of.arg && is_zero(self.module, operands[1]);
        if !is_emptied || users.contains_key(&self.next[i]) {
            return false;
        }
        let sizes = self.module.shape(operands[1]);
        let is_slot = |&user: &OpId| {
            let data = &self.module.ops[user];
            user == op
                || matches!(&data.kind, OpKind::DynamicSlice { sizes: of } if of.as_slice() == sizes)
                    && data.operands[1..] == operands[2..]
        };
        if !users.get(&of.arg).is_some_and(|all| all.iter().all(is_slot)) {
            return false;
        }
        match self.slots(of.arg, sizes, &operands[2..]) {
            Some(Slots { are_all }) if are_all || !of.is_read => {}
            _ => return false,
        }
        self.ops.retain(|&other| other != op);
        self.next[i] = of.arg;
        true
    }

    /// If the body returns `arg + u` or `arg - u`, where `u` is zero except in a slot that no other iteration writes, makes the body write
    /// this slot into `arg` instead.
    fn written_only(&mut self, i: usize, of: Carried, users: &FxHashMap<ValueId, Vec<OpId>>) {
        let next = self.next[i];
        let Some((sum, &OpKind::Binary(kind), &[a, b])) = self.made(next) else { return };
        let written = match kind {
            BinaryOp::Add if b == of.arg => a,
            BinaryOp::Add | BinaryOp::Subtract if a == of.arg => b,
            _ => return,
        };
        let is_read_once = |value: ValueId| users.get(&value).is_some_and(|all| all.as_slice() == [sum]);
        if !of.from_zero || !is_read_once(of.arg) || !is_read_once(written) {
            return;
        }
        if users.contains_key(&next) || self.next.contains(&written) {
            return;
        }
        let Some((write, OpKind::DynamicUpdateSlice, operands)) = self.made(written) else { return };
        let Some(place) = self.ops.iter().position(|&op| op == write) else { return };
        let is_own = is_zero(self.module, operands[0]);
        if !is_own || self.slots(of.arg, self.module.shape(operands[1]), &operands[2..]).is_none() {
            return;
        }
        let mut row = operands[1];
        if kind == BinaryOp::Subtract {
            let mut negate = Vec::new();
            row = Emit::new(self.module, &mut negate, write).neg(row);
            self.ops.splice(place..place, negate);
        }
        self.module.ops[write].operands[0] = of.arg;
        self.module.ops[write].operands[1] = row;
        self.ops.retain(|&other| other != sum);
        self.next[i] = written;
    }

    /// Describes the slots (slices of `stack`) with the start indices `places` and the given sizes. `None` if the slots of different
    /// iterations may overlap.
    fn slots(&self, stack: ValueId, sizes: &[i64], places: &[ValueId]) -> Option<Slots> {
        let shape = self.module.shape(stack);
        for (d, &place) in places.iter().enumerate() {
            let Some(counts) = self.counts(place, 16) else { continue };
            let (first, last) = (counts.start, counts.at(self.trips - 1)?);
            let is_inside = first.min(last) >= 0 && first.max(last) + sizes[d] <= shape[d];
            if is_inside && counts.step.abs() >= sizes[d] {
                let others_whole = (0..shape.len()).all(|other| other == d || sizes[other] == shape[other]);
                return Some(Slots {
                    are_all: others_whole && self.trips.checked_mul(sizes[d])? == shape[d],
                });
            }
        }
        None
    }

    /// Returns how an integer of the forward body depends on the iteration index.
    fn counts(&self, value: ValueId, depth: u32) -> Option<Counts> {
        let depth = depth.checked_sub(1)?;
        let ty = self.module.tensor(value)?;
        if !ty.dtype.is_integer() || ty.num_elements() != Some(1) {
            return None;
        }
        let counts = match self.module.values[value].def() {
            ValueDef::Arg(region, i) => self.carried(region, i as usize, depth)?,
            ValueDef::Result(..) => self.computed(value, depth)?,
        };
        // The integer must not wrap around in any iteration.
        let bits = ty.dtype.bits().min(32) - 1;
        let fits = |n: i64| (-(1i64 << bits)..1i64 << bits).contains(&n);
        (fits(counts.start) && fits(counts.at(self.trips - 1)?)).then_some(counts)
    }

    fn carried(&self, region: shardc_ir::RegionId, i: usize, depth: u32) -> Option<Counts> {
        let data = &self.module.ops[self.op];
        if data.regions.get(1) != Some(&region) {
            return None;
        }
        let returned = *self.module.ops[self.module.terminator(region)?].operands.get(i)?;
        if returned == self.module.regions[region].args[i] {
            return self.counts(data.operands[i], depth).filter(|counts| counts.step == 0);
        }
        counter(self.module, self.op, i).map(|(start, step)| Counts { start, step })
    }

    fn computed(&self, value: ValueId, depth: u32) -> Option<Counts> {
        let (_, kind, operands) = self.made(value)?;
        let of = |i: usize| self.counts(*operands.get(i)?, depth);
        match kind {
            OpKind::Constant(_) => {
                let &[n] = self.module.constant_integers(value)?.as_slice() else { return None };
                Some(Counts { start: n, step: 0 })
            }
            OpKind::Convert | OpKind::Reshape | OpKind::BroadcastInDim { .. } => of(0),
            OpKind::Unary(UnaryOp::Negate) => of(0)?.times(-1),
            OpKind::Binary(BinaryOp::Add) => of(0)?.plus(of(1)?),
            OpKind::Binary(BinaryOp::Subtract) => of(0)?.plus(of(1)?.times(-1)?),
            OpKind::Binary(BinaryOp::Multiply) => match (of(0)?, of(1)?) {
                (a, Counts { start, step: 0 }) | (Counts { start, step: 0 }, a) => a.times(start),
                _ => None,
            },
            OpKind::Select => of(if self.holds(*operands.first()?, depth)? { 1 } else { 2 }),
            OpKind::DynamicSlice { sizes } if sizes.as_slice() == [1] => {
                let at = of(1)?;
                let length = *self.module.shape(operands[0]).first()?;
                // The index must be in bounds in all iterations: otherwise, it would be clamped, and not depend linearly on the iteration.
                let is_inside = |n: i64| (0..length).contains(&n);
                let all_inside = is_inside(at.start) && is_inside(at.at(self.trips - 1)?);
                let numbers = self.numbers(operands[0]).filter(|_| all_inside)?;
                at.times(numbers.step)?.plus(Counts { start: numbers.start, step: 0 })
            }
            _ => None,
        }
    }

    /// How the elements of a constant vector depend on their index, such as layer numbers that a scan reads one by one.
    fn numbers(&self, mut vector: ValueId) -> Option<Counts> {
        while let ValueDef::Arg(region, i) = self.module.values[vector].def() {
            let data = &self.module.ops[self.op];
            let returned = *self.module.ops[self.module.terminator(region)?].operands.get(i as usize)?;
            if data.regions.get(1) != Some(&region) || returned != vector {
                return None;
            }
            vector = data.operands[i as usize];
        }
        match self.made(vector)? {
            (_, OpKind::Iota { .. }, _) => Some(Counts { start: 0, step: 1 }),
            (_, OpKind::Constant(_), _) => {
                let all = self.module.constant_integers(vector)?;
                let &[start, second, ..] = all.as_slice() else { return None };
                let step = second.checked_sub(start)?;
                let is_even = all.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(step));
                is_even.then_some(Counts { start, step })
            }
            _ => None,
        }
    }

    /// Returns `true` if a comparison holds in all iterations, `false` if it holds in none, and `None` otherwise.
    fn holds(&self, condition: ValueId, depth: u32) -> Option<bool> {
        let (_, &OpKind::Compare(direction, _), &[a, b]) = self.made(condition)? else { return None };
        let apart = self.counts(a, depth)?.plus(self.counts(b, depth)?.times(-1)?)?;
        let holds = |n: i64| match direction {
            CompareDirection::LT => Some(n < 0),
            CompareDirection::LE => Some(n <= 0),
            CompareDirection::GT => Some(n > 0),
            CompareDirection::GE => Some(n >= 0),
            // The first and the last iteration do not determine the result: the comparison may hold in an iteration between them.
            CompareDirection::EQ | CompareDirection::NE => None,
        };
        let first = holds(apart.start)?;
        (first == holds(apart.at(self.trips - 1)?)?).then_some(first)
    }
}

/// The slots (slices of a stacked tensor) of all iterations, which are disjoint.
struct Slots {
    /// Whether the slots together cover all elements.
    are_all: bool,
}

/// An integer that is `start + step * iteration`.
#[derive(Clone, Copy)]
struct Counts {
    start: i64,
    step: i64,
}

impl Counts {
    fn at(self, trip: i64) -> Option<i64> {
        self.step.checked_mul(trip)?.checked_add(self.start)
    }

    fn plus(self, other: Counts) -> Option<Counts> {
        Some(Counts { start: self.start.checked_add(other.start)?, step: self.step.checked_add(other.step)? })
    }

    fn times(self, factor: i64) -> Option<Counts> {
        Some(Counts { start: self.start.checked_mul(factor)?, step: self.step.checked_mul(factor)? })
    }
}

/// Whether a value is a constant whose bits are all zero.
fn is_zero(module: &Module, value: ValueId) -> bool {
    let op = module.def_op(value).map(|op| &module.ops[op].kind);
    matches!(op, Some(OpKind::Constant(Dense::Splat(bytes))) if bytes.iter().all(|&byte| byte == 0))
}
