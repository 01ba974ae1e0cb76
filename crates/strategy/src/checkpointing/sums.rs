//! Finds parameter gradients in the backward pass: they are sums over the batch.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{BinaryOp, Module, OpId, OpKind, ValueId, Work};

use super::stages::Stages;
use crate::flow;

/// The maximum number of operations between a sum over the batch and its addition to another sum.
const NEARBY: usize = 8;

/// The sums over the batch that the backward pass computed since the last call of [`Sums::take`], and values computed from these sums.
pub(super) struct Sums<'a> {
    module: &'a Module,
    stages: &'a Stages,
    users: &'a FxHashMap<ValueId, Vec<OpId>>,
    has_batch: &'a dyn Fn(ValueId) -> bool,
    /// The sums that no operation visited so far reads.
    unread: FxHashSet<ValueId>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(
        module: &'a Module,
        stages: &'a Stages,
        users: &'a FxHashMap<ValueId, Vec<OpId>>,
        has_batch: &'a dyn Fn(ValueId) -> bool,
    ) -> Sums<'a> {
        Sums { module, stages, users, has_batch, unread: FxHashSet::default() }
    }

    /// Visits an operation of the backward pass.
    pub(super) fn pass(&mut self, op: OpId) {
        let (mut of_batch, mut of_sums) = (false, false);
        for value in flow::reads(self.module, op) {
            of_batch |= (self.has_batch)(value);
            of_sums |= self.unread.remove(&value);
        }
        if of_batch || of_sums {
            let is_sum = |value: &ValueId| self.module.tensor(*value).is_some() && !(self.has_batch)(*value);
            self.unread.extend(self.module.ops[op].results.iter().copied().filter(is_sum));
        }
    }

    /// Returns and removes the complete sums, which are not added to other sums.
    pub(super) fn take(&mut self) -> Vec<ValueId> {
        let sums = std::mem::take(&mut self.unread);
        sums.into_iter().filter(|&value| !self.is_addend(value)).collect()
    }

    /// Returns whether a sum, possibly moved or converted, is added to another sum in the backward pass. A parameter that two units use has
    /// one partial gradient from each unit, and devices add the two locally before the all-reduce.
    fn is_addend(&self, sum: ValueId) -> bool {
        let mut todo = vec![sum];
        for _ in 0..NEARBY {
            let Some(value) = todo.pop() else { return false };
            for &op in self.users.get(&value).into_iter().flatten() {
                let data = &self.module.ops[op];
                match &data.kind {
                    OpKind::Binary(BinaryOp::Add) if data.operands.iter().all(|&v| self.is_backward(v)) => {
                        return true;
                    }
                    kind if data.operands.len() == 1 && kind.def().work == Work::Light => {
                        todo.extend(&data.results);
                    }
                    _ => {}
                }
            }
        }
        false
    }

    fn is_backward(&self, value: ValueId) -> bool {
        self.module.def_op(value).is_some_and(|op| self.stages.is_backward(op))
    }
}
