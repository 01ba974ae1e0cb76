//! The parts of graph construction that both kinds of data flow share: rules, nodes, function results, groups.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, TensorType, TypeId, ValueId};
use smallvec::SmallVec;

use super::{Boundary, FuncResult, Graph, NONE, Node, NodeRule};
use crate::analysis::elementwise::is_elementwise;
use crate::propagate::flow::Parents;
use crate::propagate::schedule::OpClass;
use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
use crate::rules::{RuleOptions, has_rule, is_determined_by_types, rule_with};

/// The types of the operands and results of an operation.
type Types = SmallVec<[TypeId; 4]>;

/// The rules of operations whose kinds have the same discriminant: for each kind, the index of its rule, or `None` if it has no rule.
type RulesByKind = SmallVec<[(OpKind, Option<u32>); 1]>;

/// A graph under construction.
pub(super) struct Build<'m> {
    pub(super) module: &'m Module,
    pub(super) parents: &'m Parents,
    pub(super) graph: Graph,
    rules: RuleOptions,
    rule_ids: FxHashMap<NodeRule, u32>,
    /// Indices of the rules of element-wise operations whose tensors all have the same type, by type and number of operands.
    pointwise: FxHashMap<(TypeId, usize), u32>,
    /// Indices of the rules that depend only on operation kind and types.
    by_types: FxHashMap<(Discriminant<OpKind>, Types), RulesByKind>,
    /// Number of uses of each value.
    pub(super) uses: SecondaryMap<ValueId, u32>,
    /// For each operation that has a rule, the index of its node plus one; zero means none.
    pub(super) node_of_op: SecondaryMap<OpId, u32>,
    /// For each value into which data flows from regions or operands, the index of the node of this data flow plus one; zero means none.
    pub(super) flow_node: SecondaryMap<ValueId, u32>,
}

impl<'m> Build<'m> {
    /// Returns an empty graph with the number of uses of each value in the operations `ops`.
    pub(super) fn new(module: &'m Module, parents: &'m Parents, rules: RuleOptions, ops: &[OpId]) -> Self {
        let mut uses: SecondaryMap<ValueId, u32> = SecondaryMap::new();
        for &op in ops {
            for &v in &module.ops[op].operands {
                uses[v] += 1;
            }
        }
        Build {
            module,
            parents,
            graph: Graph::default(),
            rules,
            rule_ids: FxHashMap::default(),
            pointwise: FxHashMap::default(),
            by_types: FxHashMap::default(),
            uses,
            node_of_op: SecondaryMap::new(),
            flow_node: SecondaryMap::new(),
        }
    }

    /// Adds a new slot (a stored sharding) for a tensor.
    pub(super) fn add_slot(&mut self, value: ValueId) {
        if self.module.stored(value).is_some() {
            self.graph.values.push(Some(value));
            self.graph.slot_of[value] = self.graph.values.len() as u32;
        }
    }

    /// Makes `value` share the slot, and so the sharding, of the value `of`.
    pub(super) fn share_slot(&mut self, value: ValueId, of: ValueId) {
        self.graph.slot_of[value] = self.graph.slot_of[of];
    }

    /// Adds the node of an operation that has a rule.
    pub(super) fn op(&mut self, op: OpId) {
        let Some(rule) = self.rule(op) else { return };
        let rule_data = &self.graph.rules[rule as usize].rule;
        if rule_data.factors.is_empty() {
            return;
        }
        let data = &self.module.ops[op];
        let values = data.operands.iter().chain(&data.results);
        // A value without a slot has 0 in the map, and 0 minus one wraps to `NONE`.
        let tensors: SmallVec<[u32; 8]> = values.map(|&v| self.graph.slot_of[v].wrapping_sub(1)).collect();
        let class = OpClass::of(self.module, op, |i| self.uses[data.operands[i]] as usize);
        self.node_of_op[op] = self.node(op, rule, &tensors, class, Boundary::No) + 1;
    }

    /// Adds the node of a data flow. It relates the source values to the owner, the value that holds the sharding of all of them.
    pub(super) fn flow(
        &mut self,
        op: OpId,
        owner: ValueId,
        sources: &[ValueId],
        single: bool,
        boundary: Boundary,
    ) {
        let module = self.module;
        let Some(tensor) = module.stored(owner).filter(|t| t.is_static() && t.rank() > 0) else { return };
        if sources.is_empty() || sources.iter().any(|&v| module.rank(v) != tensor.rank()) {
            return;
        }
        let rule = self.identity(tensor, sources.len());
        let tensors: SmallVec<[u32; 8]> =
            sources.iter().chain([&owner]).map(|&v| self.graph.slot_of[v].wrapping_sub(1)).collect();
        let node = self.node(op, rule, &tensors, OpClass::PassThrough { single }, boundary);
        self.flow_node[owner] = node + 1;
    }

    fn node(&mut self, op: OpId, rule: u32, tensors: &[u32], class: OpClass, boundary: Boundary) -> u32 {
        let first = self.graph.tensors.len() as u32;
        self.graph.tensors.extend_from_slice(tensors);
        self.graph.nodes.push(Node { rule, first, len: tensors.len() as u16, class, boundary, op });
        (self.graph.nodes.len() - 1) as u32
    }

    fn intern(&mut self, rule: ShardingRule, elementwise: bool, conservative: bool) -> u32 {
        let rules = &mut self.graph.rules;
        let key = NodeRule { rule, elementwise, conservative };
        *self.rule_ids.entry(key).or_insert_with_key(|key| {
            rules.push(key.clone());
            (rules.len() - 1) as u32
        })
    }

    fn rule(&mut self, op: OpId) -> Option<u32> {
        let module = self.module;
        let data = &module.ops[op];
        if matches!(data.kind, OpKind::PropagationBarrier { .. }) {
            let tensor = module.stored(*data.results.first()?)?;
            return Some(self.identity(tensor, 1));
        }
        let elementwise = is_elementwise(module, op);
        let known = has_rule(&data.kind, self.rules.set);
        // Operations with attributes are excluded, since an attribute may be a user-defined rule (`sdy.sharding_rule`).
        if known && elementwise && data.results.len() == 1 && data.attrs.is_empty() {
            // Most operations are element-wise with one type, so their rule is looked up by type and is built only if it is not found.
            let ty = module.values[data.results[0]].ty;
            let shape = module.shape(data.results[0]);
            if data.operands.iter().all(|&v| module.shape(v) == shape) {
                if let Some(&rule) = self.pointwise.get(&(ty, data.operands.len())) {
                    return Some(rule);
                }
                let tensor = module.stored(data.results[0]).filter(|t| t.is_static())?;
                let rule =
                    self.intern(identity_rule(tensor, data.operands.len()), true, self.rules.conservative);
                self.pointwise.insert((ty, data.operands.len()), rule);
                return Some(rule);
            }
        }
        if !is_determined_by_types(data) {
            return self.made(op, elementwise);
        }
        let types = data.operands.iter().chain(&data.results).map(|&v| module.values[v].ty).collect();
        let key = (discriminant(&data.kind), types);
        let known = self.by_types.get(&key).and_then(|list| list.iter().find(|(kind, _)| *kind == data.kind));
        if let Some(&(_, rule)) = known {
            debug_assert_eq!(
                rule,
                self.made(op, elementwise),
                "the rule depends on more than kind and types"
            );
            return rule;
        }
        let rule = self.made(op, elementwise);
        self.by_types.entry(key).or_default().push((data.kind.clone(), rule));
        rule
    }

    /// Builds the rule of an operation and returns its index; `None` if it has no rule.
    fn made(&mut self, op: OpId, elementwise: bool) -> Option<u32> {
        let module = self.module;
        let data = &module.ops[op];
        let is_tensor = |&v: &ValueId| module.stored(v).is_some_and(TensorType::is_static);
        let rule = rule_with(module, op, self.rules)?;
        let shapes_known =
            data.operands.iter().chain(&data.results).all(|v| is_tensor(v) || module.stored(*v).is_none());
        if !shapes_known || rule.operands.len() + rule.results.len() > usize::from(u16::MAX) {
            return None;
        }
        Some(self.intern(rule, elementwise, self.rules.conservative))
    }

    fn identity(&mut self, tensor: &TensorType, operands: usize) -> u32 {
        self.intern(identity_rule(tensor, operands), false, false)
    }

    pub(super) fn func_results(&mut self, func: FuncId, body: RegionId) {
        let module = self.module;
        let Some(ret) = module.terminator(body) else { return };
        for i in 0..module.funcs[func].results.len() {
            let result = self.graph.values.len() as u32;
            // Each function result has a slot, even if it does not participate in propagation: slots of results are found by their offset
            // from the first.
            self.graph.values.push(None);
            let Some(&value) = module.ops[ret].operands.get(i) else { continue };
            let Some(tensor) = module.stored(value).filter(|t| t.is_static()) else { continue };
            let rule = self.identity(tensor, 1);
            let value = self.graph.slot_of[value].wrapping_sub(1);
            if value != NONE {
                self.graph.func_results.push(FuncResult { value, result, rule });
            }
        }
    }

    /// Adds the pairs of a donated argument and its result. Must be called after [`Build::func_results`].
    pub(super) fn aliases(&mut self, func: FuncId, body: RegionId) {
        let module = self.module;
        let first = self.graph.values.len() - module.funcs[func].results.len();
        for (arg, result) in aliased_pairs(module, func) {
            let Some(&value) = module.regions[body].args.get(arg) else { continue };
            let Some(tensor) = module.stored(value).filter(|t| t.is_static()) else { continue };
            if module.funcs[func].results.get(result) != Some(&module.values[value].ty) {
                continue;
            }
            if let Some(slot) = self.graph.slot(value) {
                let rule = self.identity(tensor, 1);
                self.graph.aliases.push(FuncResult { value: slot, result: (first + result) as u32, rule });
            }
        }
    }

    /// Adds sharding groups. Values in a group share a sharding, and groups with a common value are merged.
    pub(super) fn groups(&mut self, ops: &[OpId]) {
        let mut leader: FxHashMap<i64, i64> = FxHashMap::default();
        // Path compression is not needed: programs have few groups, and chains of merged groups are short.
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
            // The smallest group id is the representative, and the `BTreeMap` below sorts by it, so the order of groups does not depend
            // on the hash map.
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
}

/// Returns the index of each donated argument, with the index of the result that it is donated to. An argument that may be donated to any
/// result (`jax.buffer_donor`) is omitted.
pub(in crate::propagate) fn aliased_pairs(module: &Module, func: FuncId) -> Vec<(usize, usize)> {
    let attrs = module.funcs[func].arg_attrs.iter().enumerate();
    attrs.filter_map(|(arg, attrs)| Some((arg, attrs.donated_to()?))).collect()
}

/// Returns the rule that relates each dimension of a tensor to the same dimension of all other tensors.
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
