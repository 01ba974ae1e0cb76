//! The propagation graph: slots, which hold shardings, and nodes, which relate them.
//!
//! Values that share a sharding share a slot. A node is an operation with a sharding rule, or a point at which data flows into a slot,
//! either into or out of a region or between functions. All data is in flat tables; equal rules are shared.
//!
//! Data flow is determined in one of two ways, which build the same kind of graph:
//!
//! * `implied`: one function without calls; the semantics of `while` and similar operations define data flow. The compiler uses this
//!   variant.
//! * `edges`: all functions of a module; only `sdy.data_flow_edge` and `sdy.func_data_flow_edge` define data flow, as in Shardy.

mod build;
mod edges;
mod implied;

use rustc_hash::FxHashMap;
use shardc_ir::{FuncId, Module, OpId, RegionId, SecondaryMap, ValueId};

use super::flow::Parents;
use super::schedule::OpClass;
use crate::rules::RuleOptions;
use crate::rules::sharding_rule::ShardingRule;
use build::Build;
pub(super) use build::aliased_pairs;
use edges::Edges;

/// An index that means "no slot", "no node" or "no sharding".
pub(super) const NONE: u32 = u32::MAX;

/// How the sharding of a value at the boundary of a manual computation differs inside and outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// The value is not at the boundary of a manual computation.
    No,
    /// Block argument `i` of the manual computation: its slot stores the sharding inside the body, and its node propagates the sharding of
    /// operand `i` outside.
    Enter(OpId, u32),
    /// Result `i` of the manual computation: its slot stores the sharding outside, and its node propagates the sharding of the returned
    /// value inside the body.
    Leave(OpId, u32),
}

/// A node of the propagation graph: an operation, or a point at which data flows into a value from regions, operands or other functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The index in [`Graph::rules`].
    pub(super) rule: u32,
    /// The index of the node's first tensor in [`Graph::tensors`]: operands, then results.
    pub(super) first: u32,
    pub(super) len: u16,
    pub(super) class: OpClass,
    pub(super) boundary: Boundary,
    pub(super) op: OpId,
}

/// A sharding rule and the options that determine how axes propagate along its factors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeRule {
    pub(super) rule: ShardingRule,
    pub(super) elementwise: bool,
    /// Whether sub-axes are not propagated.
    pub(super) conservative: bool,
}

/// Two slots (stored shardings) that are related: one of a value, and one of the function result that the value is returned as or donated
/// to.
#[derive(Clone, Copy, Debug)]
pub(super) struct FuncResult {
    pub(super) value: u32,
    pub(super) result: u32,
    pub(super) rule: u32,
}

/// The propagation graph: slots (stored shardings), nodes and rules in flat tables, all by index.
#[derive(Default)]
pub(super) struct Graph {
    slot_of: SecondaryMap<ValueId, u32>,
    /// The value whose sharding each slot holds; `None` for function results, which come last.
    pub(super) values: Vec<Option<ValueId>>,
    pub(super) nodes: Vec<Node>,
    pub(super) tensors: Vec<u32>,
    pub(super) rules: Vec<NodeRule>,
    pub(super) func_results: Vec<FuncResult>,
    /// The slots of donated arguments, each with the slot of its result.
    pub(super) aliases: Vec<FuncResult>,
    notify_first: Vec<u32>,
    notify: Vec<u32>,
    /// For each slot (stored sharding) in a sharding group, the index of the group in `group_members`.
    pub(super) groups: FxHashMap<u32, u32>,
    /// The slots of each sharding group, in order.
    pub(super) group_members: Vec<Vec<u32>>,
}

impl Graph {
    /// Returns the index of the slot that holds the sharding of a value; `None` if the value is not in the graph.
    pub(super) fn slot(&self, value: ValueId) -> Option<u32> {
        Some(self.slot_of[value].wrapping_sub(1)).filter(|&slot| slot != NONE)
    }

    /// Returns for each value the index of the slot that holds its sharding, plus one; 0 if it has none.
    pub(super) fn slots(&self) -> &SecondaryMap<ValueId, u32> {
        &self.slot_of
    }

    /// Returns the nodes to revisit when the sharding in `slot` changes, in the order in which to push them.
    pub(super) fn notify(&self, slot: u32) -> &[u32] {
        let at = slot as usize;
        &self.notify[self.notify_first[at] as usize..self.notify_first[at + 1] as usize]
    }

    /// Returns the slots that hold the shardings of a node's tensors: operands, then results.
    pub(super) fn tensors_of(&self, node: &Node) -> &[u32] {
        &self.tensors[node.first as usize..][..usize::from(node.len)]
    }

    /// Builds the graph of a function without calls.
    pub(super) fn of_func(
        module: &Module,
        func: FuncId,
        body: RegionId,
        parents: &Parents,
        rules: RuleOptions,
    ) -> Self {
        let ops = module.walk(body);
        let mut build = Build::new(module, parents, rules, &ops);
        build.slots_of_func(body, &ops);
        build.region(body);
        build.func_results(func, body);
        build.aliases(func, body);
        build.groups(&ops);
        build.notifications_of_func(&ops);
        build.graph
    }

    /// Builds the graph of all functions of a module, with data flow along edges. Only the results of `main` participate.
    pub(super) fn of_module(
        module: &Module,
        main: Option<(FuncId, RegionId)>,
        parents: &Parents,
        rules: RuleOptions,
    ) -> Self {
        let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
        let mut build = Build::new(module, parents, rules, &ops);
        let edges = Edges::new(module, &ops, &build.uses);
        build.slots_of_module(&edges, &ops);
        for &op in &ops {
            build.op_or_edge(&edges, op);
        }
        if let Some((func, body)) = main {
            build.func_results(func, body);
        }
        build.groups(&ops);
        build.notifications_of_module(&edges);
        build.graph
    }

    /// Sets the nodes to revisit when the sharding in a slot changes, from pairs (slot, node). The pairs of one slot are in visiting order.
    fn set_notifications<'a>(&mut self, pairs: impl Iterator<Item = &'a (u32, u32)> + Clone) {
        let slots = self.values.len();
        // A counting sort into compressed rows. It is stable, since the order of nodes matters.
        let mut first = vec![0u32; slots + 1];
        for &(slot, _) in pairs.clone() {
            first[slot as usize + 1] += 1;
        }
        for i in 0..slots {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut notify = vec![NONE; first[slots] as usize];
        for &(slot, node) in pairs {
            notify[next[slot as usize] as usize] = node;
            next[slot as usize] += 1;
        }
        self.notify_first = first;
        self.notify = notify;
    }
}
