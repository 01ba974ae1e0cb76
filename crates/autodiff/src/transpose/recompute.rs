//! Rematerialization: the backward pass of a region recomputes values of the forward pass before their first use.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Build, Module, OpId, OpKind, TypeId, ValueId, clone_op};

use super::Transposed;
use super::residuals::Plan;
use crate::emit::Emit;
use crate::replace::{for_each_under, replace};

/// Makes backward operations read `stand_ins` and recomputed values instead of values of the forward pass. The recomputed operations are
/// copied in groups, each immediately before its first user. Returns the backward operations and copies in order.
///
/// If the plan is [held](Plan::held), a barrier ties each group to an incoming cotangent, so that the group cannot start before the
/// cotangent is available, and CSE does not merge it with the original computation.
pub(super) fn place(
    t: &mut Transposed<'_, '_>,
    plan: &Plan,
    stand_ins: FxHashMap<ValueId, ValueId>,
    ops: Vec<OpId>,
) -> Vec<OpId> {
    if plan.again.is_empty() {
        replace(t.linear.module, &ops, &stand_ins);
        return ops;
    }
    let module = &*t.linear.module;
    let mut makers: FxHashMap<ValueId, usize> = FxHashMap::default();
    for (i, &op) in plan.again.iter().enumerate() {
        makers.extend(module.ops[op].results.iter().map(|&v| (v, i)));
    }
    let mut placing = Placing {
        plan,
        makers,
        is_done: vec![false; plan.again.len()],
        map: stand_ins,
        behind: FxHashSet::default(),
    };
    let mut out = Vec::with_capacity(ops.len() + plan.again.len());
    for op in ops {
        let group = placing.group(t.linear.module, op);
        if !group.is_empty() {
            placing.copy(t, &group, op, &mut out);
        }
        replace(t.linear.module, &[op], &placing.map);
        out.push(op);
    }
    out
}

struct Placing<'a> {
    plan: &'a Plan,
    /// For each recomputed value, the index in [`Plan::again`] of the operation that produces it.
    makers: FxHashMap<ValueId, usize>,
    is_done: Vec<bool>,
    /// Maps values of the forward pass to the values that the backward pass reads instead.
    map: FxHashMap<ValueId, ValueId>,
    /// Results of barriers.
    behind: FxHashSet<ValueId>,
}

impl Placing<'_> {
    /// The indices in [`Plan::again`] of the operations to recompute before `op`, in order.
    fn group(&mut self, module: &Module, op: OpId) -> Vec<usize> {
        let mut group = Vec::new();
        let mut todo = vec![op];
        while let Some(op) = todo.pop() {
            for_each_under(module, &[op], |op| {
                for value in &module.ops[op].operands {
                    if let Some(&i) = self.makers.get(value)
                        && !std::mem::replace(&mut self.is_done[i], true)
                    {
                        group.push(i);
                        todo.push(self.plan.again[i]);
                    }
                }
            });
        }
        group.sort_unstable();
        group
    }

    /// Inserts copies of a group of operations, given as indices in [`Plan::again`], before `reader`.
    fn copy(&mut self, t: &mut Transposed<'_, '_>, group: &[usize], reader: OpId, out: &mut Vec<OpId>) {
        let ops: Vec<OpId> = group.iter().map(|&i| self.plan.again[i]).collect();
        let inputs = self.inputs(t.linear.module, &ops);
        for &value in &inputs {
            let now = self.map.get(&value).copied().unwrap_or(value);
            t.linear.map.insert(value, now);
        }
        if self.plan.held {
            self.hold(t, &inputs, reader, out);
        }
        for op in ops {
            let copy = clone_op(t.linear.module, op, &mut t.linear.map);
            out.push(copy);
            let data = &t.linear.module.ops;
            self.map.extend(data[op].results.iter().copied().zip(data[copy].results.iter().copied()));
            self.behind.extend(&data[copy].results);
        }
    }

    /// The values that a group uses but does not define, each once, in order.
    fn inputs(&self, module: &Module, ops: &[OpId]) -> Vec<ValueId> {
        let mut made: FxHashSet<ValueId> = FxHashSet::default();
        let mut inputs = Vec::new();
        for_each_under(module, ops, |op| {
            let data = &module.ops[op];
            made.extend(data.results.iter().copied());
            made.extend(data.regions.iter().flat_map(|&region| module.regions[region].args.iter().copied()));
            for &value in &data.operands {
                if made.insert(value) {
                    inputs.push(value);
                }
            }
        });
        inputs
    }

    /// Inserts a barrier before a group: its inputs pass through it together with a cotangent.
    fn hold(&mut self, t: &mut Transposed<'_, '_>, inputs: &[ValueId], reader: OpId, out: &mut Vec<OpId>) {
        let module = &*t.linear.module;
        let is_constant = |value: ValueId| {
            module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::Constant(_)))
        };
        let is_residual = |v: &ValueId| self.makers.contains_key(v) || self.map.contains_key(v);
        let asked = module.ops[reader].operands.iter().copied().find(|v| !is_residual(v) && !is_constant(*v));
        let is_behind = |v: ValueId| self.behind.contains(&v);
        let held: Vec<ValueId> = inputs
            .iter()
            .copied()
            .filter(|&v| !is_constant(t.linear.map.get(v)) && !is_behind(t.linear.map.get(v)))
            .collect();
        if held.is_empty() {
            return;
        }
        let operands: Vec<ValueId> = held.iter().map(|&v| t.linear.map.get(v)).chain(asked).collect();
        let types: Vec<TypeId> = operands.iter().map(|&v| module.values[v].ty).collect();
        let barrier =
            Emit::new(t.linear.module, out, reader).op(OpKind::OptimizationBarrier, &operands, &types, &[]);
        let results = t.linear.module.ops[barrier].results.clone();
        for (&value, &after) in held.iter().zip(&results) {
            t.linear.map.insert(value, after);
            self.behind.insert(after);
        }
        if let (Some(asked), Some(&after)) = (asked, results.get(held.len())) {
            for operand in &mut t.linear.module.ops[reader].operands {
                if *operand == asked {
                    *operand = after;
                }
            }
        }
    }
}
