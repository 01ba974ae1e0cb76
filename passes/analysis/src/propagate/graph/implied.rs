//! The graph of a function without calls, with data flow through regions implied by operations.

use shardc_ir::{OpId, OpKind, RegionId, ValueDef};

use super::build::Build;
use super::{Boundary, NONE};
use crate::propagate::flow::{Holder, owns_args, owns_results, result_sources, while_args};

impl Build<'_> {
    pub(super) fn slots_of_func(&mut self, body: RegionId, ops: &[OpId]) {
        let module = self.module;
        for &arg in &module.regions[body].args {
            self.add_slot(arg);
        }
        for &op in ops {
            let data = &module.ops[op];
            for (i, &result) in data.results.iter().enumerate() {
                self.add_slot(result);
                for arg in while_args(module, op, i) {
                    self.share_slot(arg, result);
                }
            }
            if let Some(&region) = data.regions.first().filter(|_| owns_args(&data.kind)) {
                for &arg in &module.regions[region].args {
                    self.add_slot(arg);
                }
            }
        }
    }

    /// Adds nodes in program order: an operation, its regions, then the flow into its results.
    pub(super) fn region(&mut self, region: RegionId) {
        let mut stack: Vec<(RegionId, usize, Option<OpId>)> = vec![(region, 0, None)];
        while let Some((region, at, pending)) = stack.pop() {
            if let Some(op) = pending {
                self.flow_into_results(op);
            }
            let Some(&op) = self.module.regions[region].ops.get(at) else { continue };
            self.op(op);
            let data = &self.module.ops[op];
            // The entry for the operations after `op` is pushed first. The flow into the results of `op` is then added after the regions of
            // `op`, which are above this entry on the stack.
            let pending = owns_results(&data.kind).then_some(op);
            stack.push((region, at + 1, pending));
            if let Some(&inner) = data.regions.first().filter(|_| owns_args(&data.kind)) {
                for (i, &arg) in self.module.regions[inner].args.iter().enumerate() {
                    let source = data.operands.get(i).copied();
                    let boundary = match data.kind {
                        OpKind::ManualComputation(_) => Boundary::Enter(op, i as u32),
                        _ => Boundary::No,
                    };
                    self.flow(op, arg, source.as_slice(), true, boundary);
                }
            }
            stack.extend(data.regions.iter().rev().map(|&r| (r, 0, None)));
        }
    }

    /// Adds the nodes of the data flow into the results of `op`. All users read a result through its data-flow node, so the result counts
    /// as having one use.
    fn flow_into_results(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        for (i, &result) in data.results.iter().enumerate() {
            let boundary = match data.kind {
                OpKind::ManualComputation(_) => Boundary::Leave(op, i as u32),
                _ => Boundary::No,
            };
            let sources = result_sources(self.module, op, i);
            self.flow(op, result, &sources, true, boundary);
        }
    }

    /// Sets for each slot (of values that share a sharding) the nodes that read or write it, in the order in which they are put back on the
    /// worklist: users of the other values with the same data, the producer of the value, then its users from last to first.
    pub(super) fn notifications_of_func(&mut self, ops: &[OpId]) {
        let mut users: Vec<(u32, u32)> = Vec::new();
        let mut others: Vec<(u32, u32)> = Vec::new();
        for &op in ops.iter().rev() {
            let data = &self.module.ops[op];
            for (i, &value) in data.operands.iter().enumerate().rev() {
                let slot = self.graph.slot_of[value].wrapping_sub(1);
                if slot == NONE {
                    continue;
                }
                let node = match self.parents.sink(self.module, op, i) {
                    Some(owner) => self.flow_node[owner],
                    None if matches!(data.kind, OpKind::Return) => self
                        .parents
                        .region(op)
                        .and_then(|region| self.parents.parent(region))
                        .map_or(0, |parent| self.node_of_op[parent]),
                    None => self.node_of_op[op],
                };
                if node == 0 {
                    continue;
                }
                let is_other = matches!(self.module.values[value].def(), ValueDef::Arg(..))
                    && matches!(self.parents.holder(self.module, value), Holder::Flow(owner) if owner != value);
                let list = if is_other { &mut others } else { &mut users };
                list.push((slot, node - 1));
            }
        }
        let mut makers: Vec<(u32, u32)> = Vec::new();
        for (slot, value) in self.graph.values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let node = match (self.flow_node[value], self.module.values[value].def()) {
                (0, ValueDef::Result(op, _)) => self.node_of_op[op],
                (0, ValueDef::Arg(..)) => 0,
                (node, _) => node,
            };
            if node != 0 {
                makers.push((slot as u32, node - 1));
            }
        }
        self.graph.set_notifications([&others, &makers, &users].into_iter().flatten());
    }
}
