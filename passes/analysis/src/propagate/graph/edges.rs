//! The graph of a module with explicit data-flow edges.
//!
//! An edge operation directly follows its operand, the *owner*, and its result replaces the owner in all other uses. The edge operation
//! holds the sharding of all values with the same data. Without an edge, nothing flows: the result of a `while` then has its own sharding,
//! which the region arguments share.

use rustc_hash::FxHashMap;
use shardc_ir::{FuncId, Module, OpId, OpKind, PackedOption, SecondaryMap, Uses, ValueDef, ValueId};
use smallvec::SmallVec;

use super::Boundary;
use super::build::Build;
use crate::propagate::flow::{Parents, owns_args, result_sources, while_args};

/// The data-flow edge operations of a module, and its call graph.
pub(super) struct Edges {
    /// For each value that is the operand of an edge operation (its owner), the result of that operation.
    of: SecondaryMap<ValueId, PackedOption<ValueId>>,
    callers: FxHashMap<FuncId, Vec<OpId>>,
    uses: Uses,
}

impl Edges {
    pub(super) fn new(module: &Module, ops: &[OpId], uses: &SecondaryMap<ValueId, u32>) -> Self {
        let mut of = SecondaryMap::new();
        let mut callers: FxHashMap<FuncId, Vec<OpId>> = FxHashMap::default();
        for &op in ops {
            let data = &module.ops[op];
            match &data.kind {
                OpKind::DataFlowEdge(_) => {
                    if let (&[owner], &[result]) = (data.operands.as_slice(), data.results.as_slice())
                        // The edge operation must be the only user of its operand; otherwise it is ignored, as in `ShardingAccess::new`.
                        && uses[owner] == 1
                    {
                        of[owner] = PackedOption::from(result);
                    }
                }
                OpKind::Call { callee } => {
                    if let Some(&func) = module.func_names.get(callee) {
                        callers.entry(func).or_default().push(op);
                    }
                }
                _ => {}
            }
        }
        Edges { of, callers, uses: module.uses() }
    }

    /// Returns the value that holds the sharding of `value`; `None` for region arguments without a sharding.
    fn holder(&self, module: &Module, parents: &Parents, value: ValueId) -> Option<ValueId> {
        let owner = match module.values[value].def() {
            ValueDef::Result(..) => value,
            ValueDef::Arg(region, i) => match parents.parent(region) {
                None => value,
                Some(op) => match &module.ops[op].kind {
                    OpKind::While => *module.ops[op].results.get(i as usize)?,
                    // Users in the region of `async_start` read the sharding of the operand.
                    OpKind::AsyncStart => {
                        let operand = *module.ops[op].operands.get(i as usize)?;
                        return self.holder(module, parents, operand);
                    }
                    kind if owns_args(kind) => value,
                    _ => return None,
                },
            },
        };
        Some(self.of[owner].expand().unwrap_or(owner))
    }

    fn callers_of(&self, func: FuncId) -> &[OpId] {
        self.callers.get(&func).map_or(&[], Vec::as_slice)
    }
}

impl Build<'_> {
    pub(super) fn slots_of_module(&mut self, edges: &Edges, ops: &[OpId]) {
        let module = self.module;
        let args = |values: &mut Vec<ValueId>, region| values.extend(&module.regions[region].args);
        let mut values: Vec<ValueId> = Vec::new();
        for body in module.bodies() {
            args(&mut values, body);
        }
        for &op in ops {
            values.extend(&module.ops[op].results);
            for &region in &module.ops[op].regions {
                args(&mut values, region);
            }
        }
        // Two loops are needed: a region argument may share the sharding of a value that a later edge operation produces.
        let holders: Vec<Option<ValueId>> =
            values.iter().map(|&v| edges.holder(module, self.parents, v)).collect();
        for (&value, &holder) in values.iter().zip(&holders) {
            if holder == Some(value) {
                self.add_slot(value);
            }
        }
        for (&value, &holder) in values.iter().zip(&holders) {
            if let Some(holder) = holder.filter(|&holder| holder != value) {
                self.share_slot(value, holder);
            }
        }
    }

    /// Adds the propagation node of an operation that has a rule, or of the data flow that an edge operation represents.
    pub(super) fn op_or_edge(&mut self, edges: &Edges, op: OpId) {
        let data = &self.module.ops[op];
        let (&[owner], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else {
            return self.op(op);
        };
        let single = self.uses[owner] == 1;
        match data.kind {
            OpKind::DataFlowEdge(_) => {
                let (sources, boundary) = self.sources_of(owner);
                self.flow(op, result, &sources, single, boundary);
            }
            OpKind::FuncDataFlowEdge => {
                let sources = self.sources_between_functions(edges, owner);
                self.flow(op, result, &sources, single, Boundary::No);
            }
            _ => self.op(op),
        }
    }

    /// Returns the values that flow into `owner`, the operand of a data-flow edge operation.
    fn sources_of(&self, owner: ValueId) -> (SmallVec<[ValueId; 4]>, Boundary) {
        let module = self.module;
        match module.values[owner].def() {
            ValueDef::Result(op, i) => {
                let boundary = match module.ops[op].kind {
                    OpKind::ManualComputation(_) => Boundary::Leave(op, i),
                    _ => Boundary::No,
                };
                (result_sources(module, op, i as usize), boundary)
            }
            ValueDef::Arg(region, i) => match self.parents.parent(region) {
                Some(op) if owns_args(&module.ops[op].kind) => {
                    let boundary = match module.ops[op].kind {
                        OpKind::ManualComputation(_) => Boundary::Enter(op, i),
                        _ => Boundary::No,
                    };
                    (module.ops[op].operands.get(i as usize).copied().into_iter().collect(), boundary)
                }
                _ => (SmallVec::new(), Boundary::No),
            },
        }
    }

    /// Returns the values that flow into `owner`, the operand of an edge operation between functions: the arguments at all call sites, or
    /// the values that the callee returns.
    fn sources_between_functions(&self, edges: &Edges, owner: ValueId) -> Vec<ValueId> {
        let module = self.module;
        match module.values[owner].def() {
            ValueDef::Arg(region, i) => {
                let Some(func) = self.parents.func(region) else { return Vec::new() };
                let operand = |&call: &OpId| module.ops[call].operands.get(i as usize).copied();
                edges.callers_of(func).iter().filter_map(operand).collect()
            }
            ValueDef::Result(call, i) => callee_body(module, call)
                .and_then(|body| module.terminator(body))
                .and_then(|ret| module.ops[ret].operands.get(i as usize).copied())
                .into_iter()
                .collect(),
        }
    }

    /// Sets for each slot (of values that share a sharding) the nodes that read or write it, in the order in which they are put back on the
    /// worklist. For an edge, these are the nodes of the other values with the same data, then the producer of the value, then its users.
    pub(super) fn notifications_of_module(&mut self, edges: &Edges) {
        let module = self.module;
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (slot, value) in self.graph.values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let mut add = |node: u32| {
                if node != 0 {
                    pairs.push((slot as u32, node - 1));
                }
            };
            let maker = module.def_op(value);
            if let Some(edge) = maker.filter(|&op| matches!(module.ops[op].kind, OpKind::DataFlowEdge(_)))
                && let Some(&owner) = module.ops[edge].operands.first()
                && let ValueDef::Result(op, i) = module.values[owner].def()
            {
                for other in while_args(module, op, i as usize) {
                    self.users(edges, other, &mut add);
                }
            }
            add(match (self.flow_node[value], maker) {
                (0, Some(op)) => self.node_of_op[op],
                (node, _) => node,
            });
            self.users(edges, value, &mut add);
        }
        self.graph.set_notifications(pairs.iter());
    }

    /// Calls `add` for the node of each user of a value, last to first. A use by a call or a return is replaced by the uses in the callee
    /// or caller.
    fn users(&self, edges: &Edges, value: ValueId, add: &mut impl FnMut(u32)) {
        let module = self.module;
        let mut through: Vec<ValueId> = Vec::new();
        let mut stack: Vec<(ValueId, usize)> = vec![(value, edges.uses.of(value).len())];
        while let Some((value, left)) = stack.pop() {
            let Some(at) = left.checked_sub(1) else { continue };
            stack.push((value, at));
            let (op, i) = edges.uses.of(value)[at];
            if let Some(edge) =
                self.parents.sink(module, op, i as usize).and_then(|owner| edges.of[owner].expand())
            {
                add(self.flow_node[edge]);
                continue;
            }
            // Calls and returns only pass values on, so the uses of the corresponding value in the callee or caller are visited instead. In
            // a recursive function, the traversal may return to its start.
            let mut see_through = |other: Option<ValueId>| {
                if let Some(other) = other.filter(|other| !through.contains(other)) {
                    through.push(other);
                    stack.push((other, edges.uses.of(other).len()));
                }
            };
            match &module.ops[op].kind {
                OpKind::Call { .. } => see_through(
                    callee_body(module, op)
                        .and_then(|body| module.regions[body].args.get(i as usize).copied()),
                ),
                OpKind::Return => {
                    let Some(region) = self.parents.region(op) else { continue };
                    match self.parents.parent(region) {
                        Some(parent) => add(self.node_of_op[parent]),
                        None => {
                            let callers = self.parents.func(region).map_or(&[][..], |f| edges.callers_of(f));
                            // The call that is pushed last is visited first.
                            for &call in callers.iter().rev() {
                                see_through(module.ops[call].results.get(i as usize).copied());
                            }
                        }
                    }
                }
                OpKind::DataFlowEdge(_) | OpKind::FuncDataFlowEdge => {
                    add(module.ops[op].results.first().map_or(0, |&edge| self.flow_node[edge]));
                }
                _ => add(self.node_of_op[op]),
            }
        }
    }
}

fn callee_body(module: &Module, call: OpId) -> Option<shardc_ir::RegionId> {
    let OpKind::Call { callee } = &module.ops[call].kind else { return None };
    module.funcs[*module.func_names.get(callee)?].body
}
