//! The edges of the graph: values that flow between nodes, and the collectives on them.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use shardc_ir::{Module, OpId, OpKind, SecondaryMap, ValueDef, ValueId};
use shardc_passes::cost::traffic;

use super::{ARGUMENTS, Home, RESULTS};
use crate::Output;
use crate::explain::Explainer;
use crate::explain::collectives::{Origin, origin};
use crate::explain::report::{CollectiveReport, GraphEdge};

/// The maximum number of operations between a collective and an operation with a node.
const STEPS: usize = 8;

type Homes = SecondaryMap<OpId, Option<Home>>;

/// The edges between nodes. Scalars and values that need no communication, such as constants, are left out.
pub(super) fn between(explainer: &Explainer<'_>, homes: &Homes) -> Vec<GraphEdge> {
    let module = explainer.module;
    let mut edges: IndexMap<(u32, u32, bool), GraphEdge> = IndexMap::new();
    // A value counts once for each node that uses it.
    let mut counted: HashSet<(ValueId, u32)> = HashSet::new();
    for op in module.walk(explainer.body) {
        let Some(to) = homes[op] else { continue };
        for &value in &module.ops[op].operands {
            let Some(from) = home_of(explainer, homes, value) else { continue };
            if module.rank(value) == 0 || explainer.is_free(module.def_op(value)) {
                continue;
            }
            let is_next = from.block == to.block && from.copy < to.copy;
            if (from.node == to.node && !is_next) || !counted.insert((value, to.node)) {
                continue;
            }
            let edge = edges.entry((from.node, to.node, is_next)).or_insert_with(|| GraphEdge {
                from: from.node as usize,
                to: to.node as usize,
                next: is_next,
                ..GraphEdge::default()
            });
            edge.values += 1;
            edge.bytes = edge.bytes.saturating_add(local_bytes(explainer, value));
        }
    }
    edges.into_values().collect()
}

/// The node that produces a value: an argument of a loop belongs to the loop.
fn home_of(explainer: &Explainer<'_>, homes: &Homes, value: ValueId) -> Option<Home> {
    match explainer.module.values[value].def() {
        ValueDef::Result(op, _) => homes[op],
        ValueDef::Arg(region, _) if region == explainer.body => Some(Home::of(ARGUMENTS)),
        ValueDef::Arg(..) => None,
    }
}

/// The bytes of a value on each device.
fn local_bytes(explainer: &Explainer<'_>, value: ValueId) -> u64 {
    let module = explainer.module;
    let bytes = module.stored(value).and_then(|ty| ty.num_bytes()).unwrap_or(0).unsigned_abs();
    let shards = module.shardings.sharding_of(value).map_or(1, |sharding| {
        let mesh = &module.meshes[sharding.mesh];
        sharding.split_axes().map(|axis| mesh.axis_size(axis)).product::<i64>()
    });
    bytes / shards.unsigned_abs().max(1)
}

/// Sets the edge of each collective: from the node that computes its operand to the node that uses its result. The two are the same
/// for a collective within a node.
pub(super) fn place_collectives(
    explainer: &Explainer<'_>,
    homes: &Homes,
    output: &Output,
    collectives: &mut [CollectiveReport],
) {
    let module = &output.module;
    let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) else { return };
    let mut nodes: HashMap<Origin, usize> = HashMap::new();
    for op in explainer.module.walk(explainer.body) {
        if let Some(home) = homes[op] {
            nodes.entry(origin(explainer.module, op)).or_insert(home.node as usize);
        }
    }
    let mut users: SecondaryMap<ValueId, Option<OpId>> = SecondaryMap::new();
    for op in module.walk(body) {
        for &operand in &module.ops[op].operands {
            users[operand].get_or_insert(op);
        }
    }
    let entry = module.entry();
    for (found, report) in traffic::collectives(module).iter().zip(collectives) {
        if Some(found.func) != entry {
            continue;
        }
        let around = Around { module, body, nodes: &nodes, users: &users };
        let own = nodes.get(&origin(module, found.op)).copied();
        let from = around.producer(found.op).or(own);
        let to = around.user(found.op).or(own);
        report.edge = from.zip(to);
    }
}

/// Finds the nodes before and after an operation of the partitioned program.
struct Around<'a> {
    module: &'a Module,
    body: shardc_ir::RegionId,
    nodes: &'a HashMap<Origin, usize>,
    users: &'a SecondaryMap<ValueId, Option<OpId>>,
}

impl Around<'_> {
    fn producer(&self, op: OpId) -> Option<usize> {
        let mut value = *self.module.ops[op].operands.first()?;
        for _ in 0..STEPS {
            let op = match self.module.values[value].def() {
                ValueDef::Arg(region, _) if region == self.body => return Some(ARGUMENTS),
                ValueDef::Arg(..) => return None,
                ValueDef::Result(op, _) => op,
            };
            let data = &self.module.ops[op];
            let node = self.nodes.get(&origin(self.module, op));
            match (node, data.collective_spec(), data.operands.first()) {
                (Some(&node), None, _) => return Some(node),
                (_, _, Some(&operand)) => value = operand,
                (_, _, None) => return None,
            }
        }
        None
    }

    fn user(&self, op: OpId) -> Option<usize> {
        let mut value = *self.module.ops[op].results.first()?;
        for _ in 0..STEPS {
            let op = self.users[value]?;
            let data = &self.module.ops[op];
            if matches!(data.kind, OpKind::Return) {
                let is_entry = self.module.terminator(self.body) == Some(op);
                return is_entry.then_some(RESULTS);
            }
            let node = self.nodes.get(&origin(self.module, op));
            match (node, data.collective_spec(), data.results.first()) {
                (Some(&node), None, _) => return Some(node),
                (_, _, Some(&result)) => value = result,
                (_, _, None) => return None,
            }
        }
        None
    }
}
