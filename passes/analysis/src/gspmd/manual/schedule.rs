//! Schedules operations and manual computations. Forming a manual computation moves operations from many positions to one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Diagnostic, OpId};

use super::{Former, ManualPart, Res, ScheduleNode, inputs};

impl Former<'_, '_> {
    /// Sorts operations and manual computations topologically, and in program order as far as possible. This is Kahn's algorithm with a
    /// heap of positions as the ready list, so an order that is already valid is kept.
    pub(super) fn schedule(&mut self, ops: &[OpId]) -> Res<(Vec<ScheduleNode>, BTreeMap<usize, ManualPart>)> {
        let parts = std::mem::take(&mut self.parts);
        let position: FxHashMap<OpId, usize> = ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
        // Nodes are numbered by position: an operation has the number of its position, and a manual computation that of its last operation.
        let mut node_of_part: FxHashMap<usize, usize> = FxHashMap::default();
        for (&id, part) in &parts {
            let all = part.entries.iter().chain(&part.members).chain(&part.exits);
            let last = all.filter_map(|op| position.get(op)).max().copied().unwrap_or(0);
            node_of_part.insert(id, last);
        }
        let node = |op: OpId| match self.of_op.get(&op) {
            Some(part) => node_of_part.get(part).copied(),
            None => position.get(&op).copied(),
        };
        let module = &*self.import.rw.module;
        let mut after: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut waits: FxHashMap<usize, usize> = FxHashMap::default();
        let mut edges: FxHashSet<(usize, usize)> = FxHashSet::default();
        let exits: FxHashSet<OpId> = parts.values().flat_map(|part| &part.exits).copied().collect();
        for &op in ops {
            let Some(to) = node(op) else { continue };
            waits.entry(to).or_default();
            for value in inputs(module, op) {
                let Some(def) = module.def_op(value).filter(|def| position.contains_key(def)) else {
                    continue;
                };
                let Some(from) = node(def) else { continue };
                // A call that leaves the manual computation has a global result, which must not be used inside the same computation.
                if from == to && exits.contains(&def) && self.of_op.get(&op) == self.of_op.get(&def) {
                    return Err(self.cycle(op));
                }
                if from != to && edges.insert((from, to)) {
                    after.entry(from).or_default().push(to);
                    *waits.entry(to).or_default() += 1;
                }
            }
        }
        let by_node: FxHashMap<usize, usize> =
            node_of_part.iter().map(|(&part, &node)| (node, part)).collect();
        // The terminator is appended explicitly at the end. It need not depend on all operations: those with side effects may have no
        // users.
        let last = ops.len().saturating_sub(1);
        let mut ready: BinaryHeap<Reverse<usize>> =
            waits.iter().filter(|&(&n, &w)| w == 0 && n != last).map(|(&n, _)| Reverse(n)).collect();
        let mut out = Vec::with_capacity(waits.len());
        let to_node = |n: usize| {
            by_node.get(&n).map_or_else(|| ScheduleNode::Op(ops[n]), |&part| ScheduleNode::Part(part))
        };
        while let Some(Reverse(n)) = ready.pop() {
            out.push(to_node(n));
            for &next in after.get(&n).into_iter().flatten() {
                if let Some(wait) = waits.get_mut(&next) {
                    *wait -= 1;
                    if *wait == 0 && next != last {
                        ready.push(Reverse(next));
                    }
                }
            }
        }
        // A node that never became ready is on a cycle. The terminator is not in `out` yet.
        if out.len() + 1 != waits.len() {
            let op = parts.values().flat_map(|p| &p.entries).min_by_key(|op| position.get(op)).copied();
            return Err(self.cycle(op.unwrap_or(ops[last])));
        }
        out.push(to_node(last));
        Ok((out, parts))
    }

    fn cycle(&self, op: OpId) -> Box<Diagnostic> {
        self.error(
            op,
            "a device-local part of the program depends on a global value that is computed from its own results",
            "separate the local values: those that enter after the global value must not be used with those that entered before it",
        )
    }
}
