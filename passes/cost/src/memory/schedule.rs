//! The schedule of a region: the order in which its operations run.
//!
//! Operations run in program order, except for the kinds that the rules of [`Stage::Schedule`](super::rules::Stage) move. XLA's schedulers
//! (`HloMemoryScheduler`, and the latency-hiding scheduler after it) have more freedom. They keep program order between operations of
//! equal priority.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{EntityRef, OpId, OpKind, RegionId, ValueId};

use super::rules::Rule;
use super::stages::Estimate;

/// The distance, in operations, beyond which an operation that frees more than it allocates is scheduled as early as possible. At shorter
/// distances, the TPU compiler was observed to keep program order.
pub(super) const FAR_BEHIND: u32 = 32;

/// The result of a reduction is tiny if it is at most this fraction (1/1024) of its operand.
const NEXT_TO_NOTHING: u64 = 1024;

/// To be scheduled [early](FAR_BEHIND), an operation must free more than 5/4 (1 + 1/4) of the bytes that it allocates. The f32 gradient of
/// a table, computed from logits of equal size and a few activations, was observed to stay in program order. While the gradient is
/// computed, the logits are live as well.
const FREED_BEYOND: u64 = 4;

impl Estimate<'_> {
    /// Returns the indices of the operations that are not fused, in execution order. Operations run in program order, except those that are
    /// scheduled as early as possible:
    ///
    /// * those that only produce results of the function, such as a parameter update, which frees its gradient;
    /// * those that free more than they allocate and are [far](FAR_BEHIND) after their operands, such as the gradient of a parameter, which
    ///   JAX emits at the end of the program;
    /// * reductions of large tensors to tiny results, such as the gradient of a norm's weights. In program order, they would keep their
    ///   operands live.
    pub(super) fn order(&mut self, region: RegionId, outside: &FxHashSet<ValueId>) -> Vec<usize> {
        let module = self.module;
        let mut order = Vec::new();
        // For each value, the index after which all visited operations have read it.
        let mut read: FxHashMap<ValueId, u32> = FxHashMap::default();
        for (number, &op) in module.regions[region].ops.iter().enumerate() {
            let data = &module.ops[op];
            let made = data.operands.iter().filter_map(|&v| self.program.made_in(v, region));
            let ready = made.map(|def| self.ready[def.index()]).max().unwrap_or(0);
            let is_fused = self.fused[op.index()];
            let may_move = !is_fused && !data.results.is_empty() && data.regions.is_empty();
            let is_result = data.results.iter().all(|v| outside.contains(v));
            let number = number as u32;
            let is_early_result = may_move && is_result && self.program.applies(Rule::EarlyResults);
            let is_reduced_early = !is_fused && self.makes_little(op, region);
            self.ready[op.index()] = if is_fused || is_early_result || is_reduced_early {
                ready
            } else if may_move
                && self.program.applies(Rule::EarlyFrees)
                && let Some(at) = self.frees_more(op, region, number + 1, &read).map(|at| at.max(ready))
                && at + FAR_BEHIND < number
            {
                at
            } else {
                ready.max(number)
            };
            if !is_fused {
                order.push(number as usize);
                let at = self.ready[op.index()];
                for value in self.leaves(op, region) {
                    let until = read.entry(value).or_default();
                    *until = at.max(*until);
                }
            }
        }
        let ops = &module.regions[region].ops;
        // The sort is stable: ties stay in program order.
        order.sort_by_key(|&number| self.ready[ops[number].index()]);
        order
    }

    /// Whether an operation is a reduction to a tiny result ([`NEXT_TO_NOTHING`]).
    fn makes_little(&self, op: OpId, region: RegionId) -> bool {
        let data = &self.module.ops[op];
        let read = || self.leaves(op, region).into_iter().map(|v| self.program.weight(v)).max().unwrap_or(0);
        let made = || data.results.iter().map(|&v| self.program.weight(v)).fold(0, u64::saturating_add);
        self.program.applies_on_tpu(Rule::EarlyReductions)
            && matches!(data.kind, OpKind::Reduce { .. })
            && made().saturating_mul(NEXT_TO_NOTHING) <= read()
    }

    /// Returns the earliest position in the schedule after which the operation frees more than 5/4 of the memory that it allocates
    /// ([`FREED_BEYOND`]). All other users of the freed operands have run at this position.
    fn frees_more(
        &self,
        op: OpId,
        region: RegionId,
        number: u32,
        read: &FxHashMap<ValueId, u32>,
    ) -> Option<u32> {
        let mut freed: Vec<(u32, ValueId)> = self
            .leaves(op, region)
            .into_iter()
            .filter(|&v| self.program.made_in(v, region).is_some() && self.until(v, region) == number)
            .map(|v| (read.get(&v).copied().unwrap_or(0), v))
            .collect();
        freed.sort();
        freed.dedup();
        let size = |v: ValueId| self.program.size(v);
        let made = self.module.ops[op].results.iter().map(|&v| size(v)).fold(0, u64::saturating_add);
        let mut bytes = 0u64;
        let (at, _) = freed.into_iter().find(|&(_, v)| {
            bytes = bytes.saturating_add(size(v));
            bytes > made.saturating_add(made / FREED_BEYOND)
        })?;
        Some(at)
    }

    /// Records the step of the last read of each value. A fused operation reads its operands when its users run.
    pub(super) fn note_steps(&mut self, region: RegionId, order: &[usize]) {
        let module = self.module;
        let ops = &module.regions[region].ops;
        let mut steps = vec![0u32; ops.len()];
        for (step, &number) in (1..).zip(order) {
            steps[number] = step;
        }
        for (number, &op) in ops.iter().enumerate().rev() {
            let mut step = steps[number];
            if self.fused[op.index()] {
                step = module.ops[op].results.iter().map(|&v| self.last_step(v, region)).max().unwrap_or(0);
            }
            self.read_by(op, &mut |this, value| {
                let step = step.max(this.last_step(value, region));
                this.step[value.index()] = (region, step);
            });
        }
    }

    /// Returns the last step of the region that reads the value; 0 if there is none.
    pub(super) fn last_step(&self, value: ValueId, region: RegionId) -> u32 {
        let (of, step) = self.step[value.index()];
        if of == region { step } else { 0 }
    }
}
