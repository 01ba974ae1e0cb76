//! The program as propagation sees it: slots that hold shardings, and nodes that relate them.
//!
//! Values that share a sharding share a slot. A node is an operation with a sharding rule, or a point where data
//! flows into a slot from a region or from outside of it. Everything is in flat tables; a node's rule is shared
//! by all nodes with the same rule.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, TensorType, Type, TypeId, ValueDef, ValueId,
};
use smallvec::SmallVec;

use super::factors::Direction;
use super::flow::{Holder, Parents, owns_results, result_sources, while_args};
use super::schedule::{Class, is_elementwise};
use crate::rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
use crate::rules::rule_of;

/// No slot, node or sharding.
pub(super) const NONE: u32 = u32::MAX;

/// How the sharding of a manual computation's value differs inside and outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Inside and outside are the same: no manual computation.
    No,
    /// The slot is argument `i` inside; its node sees it as operand `i` outside.
    Enter(OpId, u32),
    /// The slot is result `i` outside; its node sees it inside.
    Leave(OpId, u32),
}

/// An operation or a point where data flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Index in [`Graph::rules`].
    pub(super) rule: u32,
    /// First of its tensors in [`Graph::tensors`]: operands, then results.
    pub(super) first: u32,
    pub(super) len: u16,
    pub(super) class: Class,
    pub(super) boundary: Boundary,
    pub(super) op: OpId,
}

/// A rule and what else decides how it propagates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeRule {
    pub(super) rule: ShardingRule,
    pub(super) elementwise: bool,
}

/// Where the function returns: a value's slot and the slot of the function's result.
#[derive(Clone, Copy, Debug)]
pub(super) struct FuncResult {
    pub(super) value: u32,
    pub(super) result: u32,
    pub(super) rule: u32,
}

/// See the module documentation.
pub(super) struct Graph {
    slot_of: SecondaryMap<ValueId, u32>,
    /// The value that each slot is for; `None` for function results, which come last.
    pub(super) values: Vec<Option<ValueId>>,
    pub(super) nodes: Vec<Node>,
    pub(super) tensors: Vec<u32>,
    pub(super) rules: Vec<NodeRule>,
    pub(super) func_results: Vec<FuncResult>,
    notify_first: Vec<u32>,
    notify: Vec<u32>,
    /// The sharding group of each slot that is in one.
    pub(super) groups: FxHashMap<u32, u32>,
    /// Members of each group, in order.
    pub(super) group_members: Vec<Vec<u32>>,
}

impl Graph {
    /// The slot of a value.
    pub(super) fn slot(&self, value: ValueId) -> Option<u32> {
        Some(self.slot_of[value].wrapping_sub(1)).filter(|&slot| slot != NONE)
    }

    /// For each value its slot plus one; zero where it has none.
    pub(super) fn slots(&self) -> &SecondaryMap<ValueId, u32> {
        &self.slot_of
    }

    /// The nodes to visit again when a slot changes, in order.
    pub(super) fn notify(&self, slot: u32) -> &[u32] {
        let at = slot as usize;
        &self.notify[self.notify_first[at] as usize..self.notify_first[at + 1] as usize]
    }

    /// The tensors of a node: operands, then results.
    pub(super) fn tensors_of(&self, node: &Node) -> &[u32] {
        &self.tensors[node.first as usize..][..usize::from(node.len)]
    }

    /// The graph of a function.
    pub(super) fn new(module: &Module, func: FuncId, body: RegionId, parents: &Parents) -> Self {
        let mut build = Build {
            module,
            parents,
            graph: Graph {
                slot_of: SecondaryMap::new(),
                values: Vec::new(),
                nodes: Vec::new(),
                tensors: Vec::new(),
                rules: Vec::new(),
                func_results: Vec::new(),
                notify_first: Vec::new(),
                notify: Vec::new(),
                groups: FxHashMap::default(),
                group_members: Vec::new(),
            },
            rule_ids: FxHashMap::default(),
            pointwise: FxHashMap::default(),
            uses: SecondaryMap::new(),
            node_of_op: SecondaryMap::new(),
            flow_node: SecondaryMap::new(),
        };
        let ops = module.walk(body);
        for &op in &ops {
            for &v in &module.ops[op].operands {
                build.uses[v] += 1;
            }
        }
        build.slots(body, &ops);
        build.region(body);
        build.func_results(func, body);
        build.groups(&ops);
        build.notifications(&ops);
        build.graph
    }
}

struct Build<'m> {
    module: &'m Module,
    parents: &'m Parents,
    graph: Graph,
    rule_ids: FxHashMap<NodeRule, u32>,
    /// Rules of elementwise operations whose tensors all have one shape, by type and numbers of operands and results.
    pointwise: FxHashMap<(TypeId, usize), u32>,
    uses: SecondaryMap<ValueId, u32>,
    /// The node of each operation with a rule, plus one.
    node_of_op: SecondaryMap<OpId, u32>,
    /// The node that feeds each owner, plus one.
    flow_node: SecondaryMap<ValueId, u32>,
}

impl Build<'_> {
    fn slots(&mut self, body: RegionId, ops: &[OpId]) {
        let module = self.module;
        let add = |graph: &mut Graph, value: ValueId| {
            if matches!(module.types.get(module.values[value].ty), Type::Tensor(_)) {
                graph.values.push(Some(value));
                graph.slot_of[value] = graph.values.len() as u32;
            }
        };
        for &arg in &module.regions[body].args {
            add(&mut self.graph, arg);
        }
        for &op in ops {
            let data = &module.ops[op];
            for (i, &result) in data.results.iter().enumerate() {
                add(&mut self.graph, result);
                let slot = self.graph.slot_of[result];
                for arg in while_args(module, op, i) {
                    self.graph.slot_of[arg] = slot;
                }
            }
            if let (OpKind::ManualComputation(_), Some(&region)) = (&data.kind, data.regions.first()) {
                for &arg in &module.regions[region].args {
                    add(&mut self.graph, arg);
                }
            }
        }
    }

    /// Nodes in program order: an operation, what is in its regions, then the flow into its results.
    fn region(&mut self, region: RegionId) {
        let mut stack: Vec<(RegionId, usize, Option<OpId>)> = vec![(region, 0, None)];
        while let Some((region, at, pending)) = stack.pop() {
            if let Some(op) = pending {
                self.flow_into_results(op);
            }
            let Some(&op) = self.module.regions[region].ops.get(at) else { continue };
            self.op(op);
            let data = &self.module.ops[op];
            let pending = owns_results(&data.kind).then_some(op);
            stack.push((region, at + 1, pending));
            if let (OpKind::ManualComputation(_), Some(&inner)) = (&data.kind, data.regions.first()) {
                for (i, &arg) in self.module.regions[inner].args.iter().enumerate() {
                    let source = data.operands.get(i).copied();
                    self.flow(op, arg, source.as_slice(), Boundary::Enter(op, i as u32));
                }
            }
            stack.extend(data.regions.iter().rev().map(|&r| (r, 0, None)));
        }
    }

    fn op(&mut self, op: OpId) {
        let Some(rule) = self.rule(op) else { return };
        let rule_data = &self.graph.rules[rule as usize].rule;
        if rule_data.factors.is_empty() {
            return;
        }
        let data = &self.module.ops[op];
        let values = data.operands.iter().chain(&data.results);
        let tensors: SmallVec<[u32; 8]> = values.map(|&v| self.graph.slot_of[v].wrapping_sub(1)).collect();
        let class = Class::of(self.module, op, |i| self.uses[data.operands[i]] as usize);
        self.node_of_op[op] = self.node(op, rule, &tensors, class, Boundary::No) + 1;
    }

    fn flow_into_results(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        for (i, &result) in data.results.iter().enumerate() {
            let boundary = match data.kind {
                OpKind::ManualComputation(_) => Boundary::Leave(op, i as u32),
                _ => Boundary::No,
            };
            let sources = result_sources(self.module, op, i);
            self.flow(op, result, &sources, boundary);
        }
    }

    /// A node by which the sources flow into an owner.
    fn flow(&mut self, op: OpId, owner: ValueId, sources: &[ValueId], boundary: Boundary) {
        let module = self.module;
        let Some(tensor) = module.tensor(owner).filter(|t| t.is_static() && t.rank() > 0) else { return };
        if sources.iter().any(|&v| module.rank(v) != tensor.rank()) {
            return;
        }
        let rule = self.identity(tensor, sources.len());
        let tensors: SmallVec<[u32; 8]> =
            sources.iter().chain([&owner]).map(|&v| self.graph.slot_of[v].wrapping_sub(1)).collect();
        // The owner's uses all read the flow, so it counts as having one use.
        let node = self.node(op, rule, &tensors, Class::PassThrough { single: true }, boundary);
        self.flow_node[owner] = node + 1;
    }

    fn node(&mut self, op: OpId, rule: u32, tensors: &[u32], class: Class, boundary: Boundary) -> u32 {
        let first = self.graph.tensors.len() as u32;
        self.graph.tensors.extend_from_slice(tensors);
        self.graph.nodes.push(Node { rule, first, len: tensors.len() as u16, class, boundary, op });
        (self.graph.nodes.len() - 1) as u32
    }

    fn intern(&mut self, rule: ShardingRule, elementwise: bool) -> u32 {
        let rules = &mut self.graph.rules;
        let key = NodeRule { rule, elementwise };
        *self.rule_ids.entry(key).or_insert_with_key(|key| {
            rules.push(key.clone());
            (rules.len() - 1) as u32
        })
    }

    fn rule(&mut self, op: OpId) -> Option<u32> {
        let module = self.module;
        let data = &module.ops[op];
        let is_tensor = |&v: &ValueId| module.tensor(v).is_some_and(TensorType::is_static);
        if matches!(data.kind, OpKind::PropagationBarrier { .. }) {
            let tensor = module.tensor(*data.results.first()?)?;
            return Some(self.identity(tensor, 1));
        }
        let elementwise = is_elementwise(module, op);
        if elementwise && data.results.len() == 1 && data.attrs.is_empty() {
            // Most operations of a program are of this kind; their rule is known without making it.
            let ty = module.values[data.results[0]].ty;
            let shape = module.shape(data.results[0]);
            if data.operands.iter().all(|&v| module.shape(v) == shape) {
                if let Some(&rule) = self.pointwise.get(&(ty, data.operands.len())) {
                    return Some(rule);
                }
                let tensor = module.tensor(data.results[0]).filter(|t| t.is_static())?;
                let rule = self.intern(identity_rule(tensor, data.operands.len()), true);
                self.pointwise.insert((ty, data.operands.len()), rule);
                return Some(rule);
            }
        }
        let rule = rule_of(module, op)?;
        let shapes_known =
            data.operands.iter().chain(&data.results).all(|v| is_tensor(v) || module.tensor(*v).is_none());
        if !shapes_known || rule.operands.len() + rule.results.len() > usize::from(u16::MAX) {
            return None;
        }
        Some(self.intern(rule, elementwise))
    }

    fn identity(&mut self, tensor: &TensorType, operands: usize) -> u32 {
        self.intern(identity_rule(tensor, operands), false)
    }

    fn func_results(&mut self, func: FuncId, body: RegionId) {
        let module = self.module;
        let Some(ret) = module.terminator(body) else { return };
        for i in 0..module.funcs[func].results.len() {
            let result = self.graph.values.len() as u32;
            self.graph.values.push(None);
            let Some(&value) = module.ops[ret].operands.get(i) else { continue };
            let Some(tensor) = module.tensor(value).filter(|t| t.is_static()) else { continue };
            let rule = self.identity(tensor, 1);
            let value = self.graph.slot_of[value].wrapping_sub(1);
            if value != NONE {
                self.graph.func_results.push(FuncResult { value, result, rule });
            }
        }
    }

    /// Values that are in one group, directly or through values that are in two groups, share a sharding.
    fn groups(&mut self, ops: &[OpId]) {
        let mut leader: FxHashMap<i64, i64> = FxHashMap::default();
        fn find(leader: &FxHashMap<i64, i64>, mut id: i64) -> i64 {
            while let Some(&up) = leader.get(&id).filter(|&&up| up != id) {
                id = up;
            }
            id
        }
        let mut of_slot: FxHashMap<u32, i64> = FxHashMap::default();
        let mut members: Vec<(i64, u32)> = Vec::new();
        for &op in ops {
            let data = &self.module.ops[op];
            let (OpKind::ShardingGroup { id }, Some(&value)) = (&data.kind, data.operands.first()) else {
                continue;
            };
            let Some(slot) = self.graph.slot(value) else { continue };
            leader.entry(*id).or_insert(*id);
            let group = *of_slot.entry(slot).or_insert(*id);
            let (a, b) = (find(&leader, group), find(&leader, *id));
            leader.insert(a.max(b), a.min(b));
            members.push((*id, slot));
        }
        let mut groups: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        for (id, slot) in members {
            if seen.insert(slot) {
                groups.entry(find(&leader, id)).or_default().push(slot);
            }
        }
        for group in groups.into_values() {
            let index = self.graph.group_members.len() as u32;
            self.graph.groups.extend(group.iter().map(|&slot| (slot, index)));
            self.graph.group_members.push(group);
        }
    }

    /// For each slot the nodes that read or write it, in the order in which they are put back on the work list:
    /// users of the other values of a flow, the node that makes the value, then users from last to first.
    fn notifications(&mut self, ops: &[OpId]) {
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
                let is_other = matches!(self.module.values[value].def, ValueDef::Arg(..))
                    && matches!(self.parents.holder(self.module, value), Holder::Flow(owner) if owner != value);
                let list = if is_other { &mut others } else { &mut users };
                list.push((slot, node - 1));
            }
        }
        let mut makers: Vec<(u32, u32)> = Vec::new();
        for (slot, value) in self.graph.values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let node = match (self.flow_node[value], self.module.values[value].def) {
                (0, ValueDef::Result(op, _)) => self.node_of_op[op],
                (0, ValueDef::Arg(..)) => 0,
                (node, _) => node,
            };
            if node != 0 {
                makers.push((slot as u32, node - 1));
            }
        }
        let lists = [others, makers, users];
        let slots = self.graph.values.len();
        let mut first = vec![0u32; slots + 1];
        for &(slot, _) in lists.iter().flatten() {
            first[slot as usize + 1] += 1;
        }
        for i in 0..slots {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut notify = vec![NONE; first[slots] as usize];
        for &(slot, node) in lists.iter().flatten() {
            notify[next[slot as usize] as usize] = node;
            next[slot as usize] += 1;
        }
        self.graph.notify_first = first;
        self.graph.notify = notify;
    }
}

/// All tensors have the same dimensions.
fn identity_rule(tensor: &TensorType, operands: usize) -> ShardingRule {
    let mapping = || TensorMapping {
        dims: (0..tensor.rank()).map(|d| SmallVec::from_slice(&[d as FactorIndex])).collect(),
    };
    ShardingRule {
        factors: tensor
            .shape
            .iter()
            .map(|&size| Factor { size, kind: FactorKind::PassThrough, blocked: false })
            .collect(),
        operands: (0..operands).map(|_| mapping()).collect(),
        results: SmallVec::from_elem(mapping(), 1),
        custom: false,
    }
}

/// The class of the points at which a function returns.
pub(super) const FUNC_RESULT_DIRECTION: Direction = Direction::Both;
