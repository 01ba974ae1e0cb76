//! Models producer-consumer fusion: determines which operations need no memory for their results because they are fused into their users.
//! Operands of a fused operation stay live until its users run. These operations are fused:
//!
//! * Constants, and operations that only move elements: a reshape, a transpose, a broadcast, a slice.
//! * Element-wise operations with one use.
//! * Element-wise operations with several uses, if each user can recompute them. A compiler does so if recomputation moves no more bytes
//!   than writing the result once and reading it once per user. The model also requires that recomputation reduces the sum of live bytes
//!   times the lengths of live ranges.
//! * A matmul that is fused with its user ([`products`](super::products)); it is never recomputed.

use rustc_hash::FxHashSet;
use shardc_ir::{BinaryOp, EntityRef, OpId, OpKind, RegionId, ValueId};

use super::rules::Rule;
use super::stages::Estimate;

/// Limits on the search for the values from which an operation can be recomputed: the depth, and the number of visited values.
const LOOKED_AT: u32 = 48;
const LOOKED_AT_IN_ALL: u32 = 256;

/// The maximum search depth below a value that is live anyway, and therefore costs nothing to keep.
const BEYOND_KEPT: u32 = 8;

/// A tensor of less than this fraction (1/64) of another tensor's bytes is negligible.
const BESIDE: u64 = 64;

/// The limit to which evaluations of a fused operation are counted: their numbers multiply along chains of fused operations.
const MANY: u64 = 1 << 20;

/// The cost of a recomputation that is impossible.
const NEVER: u64 = 1 << 62;

/// The state of a search for the cost of recomputing a value.
struct Again {
    region: RegionId,
    /// The index of the last operation that reads the value.
    until: u32,
    /// The remaining search depth, and the number of values that may still be visited.
    left: u32,
    in_all: u32,
    seen: FxHashSet<ValueId>,
    /// The cost of reading the operands of the recomputation ([`Machine::traffic`](super::machine::Machine::traffic)).
    read: u64,
    /// Whether the recomputation extends the live range of a value that must be in memory.
    is_from_memory: bool,
}

impl Estimate<'_> {
    /// Decides for each operation of the region whether it is fused, and records the ends of the live ranges of its operands. Users are
    /// visited first: if an operation is fused into a fused user, its operands are live until the end of the whole chain.
    pub(super) fn fuse(&mut self, region: RegionId) {
        let ops = &self.module.regions[region].ops;
        // Operations that are always fused come first, so that later decisions know the resulting live ranges.
        for &op in ops.iter().rev() {
            if self.program.is_always_fused(op) {
                let until = self.last_read(op, region);
                self.keep_operands(op, region, until);
            }
        }
        // The operations are visited twice: a decision may extend the live ranges of the values from which an already visited operation
        // can be recomputed.
        let mut weights = vec![0; ops.len()];
        for _ in 0..2 {
            for (at, &op) in ops.iter().enumerate().rev() {
                let is_fused = self.decide(op, region, at as u32 + 1);
                self.fused[op.index()] = is_fused;
                let weight = if is_fused { self.readers_of(op).clamp(1, MANY) } else { 1 };
                let before = std::mem::replace(&mut weights[at], weight);
                for &operand in &self.module.ops[op].operands {
                    let of = &mut self.readers[operand.index()];
                    *of = of.saturating_add(weight).saturating_sub(before);
                }
            }
        }
    }

    /// Decides whether the operation at position `number` (from one) of the region is fused, and if so extends the live ranges of its
    /// operands.
    fn decide(&mut self, op: OpId, region: RegionId, number: u32) -> bool {
        let until = self.last_read(op, region).max(number);
        let is_fused = self.program.joins_reader(op) || self.is_fused(op, region, number, until);
        if is_fused {
            self.keep_operands(op, region, until);
        }
        is_fused
    }

    /// Returns the index of the last operation that reads a result of `op`; 0 if there is none.
    fn last_read(&self, op: OpId, region: RegionId) -> u32 {
        self.module.ops[op].results.iter().map(|&v| self.until(v, region)).max().unwrap_or(0)
    }

    fn keep_operands(&mut self, op: OpId, region: RegionId, until: u32) {
        let module = self.module;
        for &operand in &module.ops[op].operands {
            self.keep(operand, region, until);
        }
    }

    /// Returns the number of reads of the results; a fused user reads once for each read of its own results.
    fn readers_of(&self, op: OpId) -> u64 {
        self.module.ops[op].results.iter().map(|v| self.readers[v.index()]).sum()
    }

    fn is_fused(&self, op: OpId, region: RegionId, number: u32, until: u32) -> bool {
        if self.program.is_always_fused(op) {
            return true;
        }
        if !self.program.applies(Rule::Recompute)
            || !self.program.is_elementwise(op)
            || self.program.is_hard(op)
            || self.is_quotient_kept(op, region)
        {
            return false;
        }
        let data = &self.module.ops[op];
        let made = data.results.iter().map(|&v| self.program.weight(v)).fold(0, u64::saturating_add);
        let seen = FxHashSet::default();
        let mut again = Again {
            region,
            until,
            left: LOOKED_AT,
            in_all: LOOKED_AT_IN_ALL,
            seen,
            read: 0,
            is_from_memory: false,
        };
        let cost = data.operands.iter().map(|&v| self.cost(v, 0, &mut again)).fold(0, u64::saturating_add);
        let kept = made.saturating_mul(u64::from(until - number));
        // Keeping one number per row in memory, such as the maximum of the row, is negligible compared to keeping the rows.
        let beside = if again.is_from_memory { kept / BESIDE } else { 0 };
        let lean = self.program.lean;
        if !lean.is_below(cost.saturating_add(1), kept.saturating_add(beside)) {
            return false;
        }
        let readers = self.readers_of(op);
        let written = data.results.iter().map(|&v| self.program.traffic(v)).fold(0, u64::saturating_add);
        let stored = again.read.saturating_add(written.saturating_mul(readers + 1));
        lean.is_below(readers.saturating_mul(again.read), stored)
    }

    /// Whether the result is a quotient that several matmuls read, such as attention probabilities, and that the compiler keeps in memory.
    /// For a v5p, libtpu keeps such a quotient; for a v5e, it recomputes the division in each matmul.
    fn is_quotient_kept(&self, op: OpId, region: RegionId) -> bool {
        if !self.program.applies(Rule::SharedQuotients)
            || !self.program.machine.keeps_shared_quotients()
            || !self.program.is_multiplied_often(op)
        {
            return false;
        }
        let module = self.module;
        let mut divides = op;
        while matches!(module.ops[divides].kind, OpKind::Convert | OpKind::Reshape)
            && let Some(def) = self.program.made_in(module.ops[divides].operands[0], region)
        {
            divides = def;
        }
        matches!(module.ops[divides].kind, OpKind::Binary(BinaryOp::Divide))
    }

    /// Returns the cost of keeping `value` live for a recomputation, in bytes times operations: its bytes times the extension of its live
    /// range beyond `kept` and its own users. An element-wise value may itself be recomputed.
    fn cost(&self, value: ValueId, kept: u32, again: &mut Again) -> u64 {
        if !again.seen.insert(value) {
            return 0;
        }
        let (weight, traffic) = (self.program.weight(value), self.program.traffic(value));
        let Some(def) = self.program.made_in(value, again.region) else {
            again.read = again.read.saturating_add(traffic);
            return 0;
        };
        if self.program.is_left_alone(def) {
            return NEVER;
        }
        let kept = kept.max(self.until(value, again.region));
        let keeping = weight.saturating_mul(u64::from(again.until.saturating_sub(kept)));
        let before = again.read;
        if again.left > 0 && again.in_all > 0 {
            again.left -= 1;
            again.in_all -= 1;
            let operands = &self.module.ops[def].operands;
            if self.program.is_always_fused(def) {
                return operands.iter().map(|&v| self.cost(v, kept, again)).fold(0, u64::saturating_add);
            }
            if self.program.is_elementwise(def) && !self.program.is_hard(def) {
                // The depth limit is restored afterwards, so that a deep search below one operand does not limit the search below the
                // others.
                let left = again.left;
                again.left = if keeping == 0 { left.min(BEYOND_KEPT) } else { left / 2 };
                let cost = operands.iter().map(|&v| self.cost(v, 0, again)).fold(0, u64::saturating_add);
                again.left = left;
                if cost < keeping || keeping == 0 && cost == 0 && again.read - before <= traffic {
                    return cost;
                }
            }
        }
        again.read = before.saturating_add(traffic);
        again.is_from_memory |= keeping > 0 && self.program.is_hard(def);
        keeping
    }
}
