//! Which operations are fused into what reads them, and so take no memory; what they read is kept until then.
//!
//! * Constants, and what only puts elements elsewhere: a reshape, a transpose, a broadcast, a slice.
//! * What computes element by element and is read once.
//! * The same read more often, where each reader can compute it again. A compiler does so where that moves no more bytes than
//!   to write the value once and to read it each time; and it is done only where it keeps fewer bytes for less long.
//! * A product whose one reader computes on its result element by element: the two are one operation.

use rustc_hash::FxHashSet;
use shardc_ir::{EntityRef, OpId, RegionId, ValueId};

use super::liveness::Estimate;

/// How many values are looked at to see what an operation could be computed from again.
const LOOKED_AT: u32 = 48;

/// The most that is told of how often a value is read: chains of fused operations multiply.
const MANY: u64 = 1 << 20;

/// What it takes to compute a value again.
struct Again {
    region: RegionId,
    /// The number of the operation that reads the value last.
    until: u32,
    /// How many values may yet be looked at.
    left: u32,
    seen: FxHashSet<ValueId>,
    /// Bytes that are read for it.
    read: u64,
}

impl Estimate<'_> {
    /// Decides for each operation of the region whether it is fused, and notes until when what it reads is kept. Readers come
    /// before what they read: an operation that is fused into one that is fused itself keeps its operands until the end of the
    /// whole chain.
    pub(super) fn fuse(&mut self, region: RegionId) {
        let ops = &self.module.regions[region].ops;
        // What is fused in any case first, so that each decision knows until when values are kept for it.
        for &op in ops.iter().rev() {
            if self.program.is_always_fused(op) {
                let until = self.last_read(op, region);
                self.keep_operands(op, region, until);
            }
        }
        for (at, &op) in ops.iter().enumerate().rev() {
            let number = at as u32 + 1;
            let until = self.last_read(op, region).max(number);
            let data = &self.module.ops[op];
            let is_fused = self.program.joins_reader(op) || self.is_fused(op, region, number, until);
            let mut readers = 1;
            if is_fused {
                self.fused[op.index()] = true;
                self.keep_operands(op, region, until);
                readers = self.readers_of(op).max(1);
            }
            for &operand in &data.operands {
                let of = &mut self.readers[operand.index()];
                *of = (*of + readers).min(MANY);
            }
        }
    }

    /// Returns the number of the operation that is the last to read a result; 0 if none does.
    fn last_read(&self, op: OpId, region: RegionId) -> u32 {
        self.module.ops[op].results.iter().map(|&v| self.until(v, region)).max().unwrap_or(0)
    }

    fn keep_operands(&mut self, op: OpId, region: RegionId, until: u32) {
        let module = self.module;
        for &operand in &module.ops[op].operands {
            self.keep(operand, region, until);
        }
    }

    /// How often results are read, where what is fused into several readers reads once for each.
    fn readers_of(&self, op: OpId) -> u64 {
        self.module.ops[op].results.iter().map(|v| self.readers[v.index()]).sum()
    }

    fn is_fused(&self, op: OpId, region: RegionId, number: u32, until: u32) -> bool {
        if self.program.is_always_fused(op) {
            return true;
        }
        if !self.program.is_elementwise(op) || self.program.is_hard(op) {
            return false;
        }
        let data = &self.module.ops[op];
        let made = data.results.iter().map(|&v| self.program.weight(v)).fold(0, u64::saturating_add);
        let seen = FxHashSet::default();
        let mut again = Again { region, until, left: LOOKED_AT, seen, read: 0 };
        let cost = data.operands.iter().map(|&v| self.cost(v, 0, &mut again)).fold(0, u64::saturating_add);
        if cost >= made.saturating_mul(u64::from(until - number)) {
            return false;
        }
        let readers = self.readers_of(op);
        let stored = again.read.saturating_add(made.saturating_mul(readers + 1));
        readers.saturating_mul(again.read) <= stored
    }

    /// Returns what it costs to have `value` when it is computed again from, in bytes times operations: how much longer it is
    /// kept than `kept` and its own readers do. Elementwise values can be computed again themselves.
    fn cost(&self, value: ValueId, kept: u32, again: &mut Again) -> u64 {
        if !again.seen.insert(value) {
            return 0;
        }
        let weight = self.program.weight(value);
        let Some(def) = self.program.made_in(value, again.region) else {
            again.read = again.read.saturating_add(weight);
            return 0;
        };
        let kept = kept.max(self.until(value, again.region));
        let keeping = weight.saturating_mul(u64::from(again.until.saturating_sub(kept)));
        let before = again.read;
        if again.left > 0 {
            again.left -= 1;
            let operands = &self.module.ops[def].operands;
            if self.program.is_always_fused(def) {
                return operands.iter().map(|&v| self.cost(v, kept, again)).fold(0, u64::saturating_add);
            }
            if self.program.is_elementwise(def) && !self.program.is_hard(def) {
                let cost = operands.iter().map(|&v| self.cost(v, 0, again)).fold(0, u64::saturating_add);
                if cost < keeping || keeping == 0 && cost == 0 && again.read - before <= weight {
                    return cost;
                }
            }
        }
        again.read = before.saturating_add(weight);
        keeping
    }
}
