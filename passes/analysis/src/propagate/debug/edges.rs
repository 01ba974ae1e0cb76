//! Writes `sdy.propagation_edges`: the step in which an operation propagated an axis, with the source and the targets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use indexmap::IndexMap;
use shardc_ir::{Attr, AttrDict, AxisRef, Mesh, MeshId, Module, OpId, OpKind, ValueDef, ValueId};

use super::{Log, Subject};
use crate::propagate::flow::owns_results;
use crate::propagate::subjects::AnnotationSource;

const EDGES: &str = "sdy.propagation_edges";
const RESULT_EDGES: &str = "sdy.result_propagation_edges";
const ARG_EDGES: &str = "sdy.block_arg_propagation_edges";

/// A tensor of an operation: `(false, i)` is operand `i`, and `(true, i)` is result `i`.
type End = (bool, u32);

/// The propagation edges of one operation: for each step, the axes that it propagated, with their sources and targets.
#[derive(Clone, Debug, Default)]
struct Edges {
    steps: BTreeMap<usize, Vec<(AxisRef, End, End)>>,
    /// The mesh of the axes.
    mesh: Option<MeshId>,
}

impl Edges {
    /// Adds an edge from `from` to `to`, unless an earlier step has already propagated the axis along it.
    fn add(&mut self, step: usize, axis: AxisRef, from: End, to: End) {
        if !self.steps.values().flatten().any(|edge| *edge == (axis, from, to)) {
            self.steps.entry(step).or_default().push((axis, from, to));
        }
    }

    /// Whether an edge starts or ends at a value whose sharding is printed: a result of an operation or an argument of a function. Other
    /// region arguments take their shardings from values that flow into them, and print no sharding. An edge between two region arguments
    /// would have an unknown mesh in the printed program, and Shardy rejects such an edge.
    fn names_written(&self, module: &Module, op: OpId) -> bool {
        let op = &module.ops[op];
        self.steps.values().flatten().flat_map(|&(_, from, to)| [from, to]).any(|(is_result, i)| {
            let values = if is_result { op.results.as_slice() } else { op.operands.as_slice() };
            values.get(i as usize).is_some_and(|&value| match module.values[value].def() {
                ValueDef::Result(..) => true,
                ValueDef::Arg(region, _) => module.bodies().any(|body| body == region),
            })
        })
    }

    fn text(&self, mesh: &Mesh) -> String {
        let end = |&(result, i): &End| format!("{}-{i}", if result { "result" } else { "operand" });
        let mut out = String::from("#sdy.propagation_edges<[");
        for (n, (step, edges)) in self.steps.iter().enumerate() {
            let mut sources: IndexMap<(AxisRef, End), Vec<End>> = IndexMap::new();
            for &(axis, from, to) in edges {
                sources.entry((axis, from)).or_default().push(to);
            }
            sources.sort_by(|(a, x), _, (b, y), _| {
                let pre = |axis: &AxisRef| axis.sub.map_or(1, |sub| sub.pre);
                (mesh.axis_name(*a), pre(a), x).cmp(&(mesh.axis_name(*b), pre(b), y))
            });
            let _ = write!(out, "{}{{step-{step} = [", if n > 0 { ", " } else { "" });
            for (k, ((axis, from), targets)) in sources.iter_mut().enumerate() {
                targets.sort_unstable();
                let targets: Vec<String> = targets.iter().map(end).collect();
                let _ = write!(out, "{}{{\"{}\"", if k > 0 { ", " } else { "" }, mesh.axis_name(*axis));
                if let Some(sub) = axis.sub {
                    let _ = write!(out, ":({}){}", sub.pre, sub.size);
                }
                let _ = write!(out, " = {} -> [{}]}}", end(from), targets.join(", "));
            }
            out.push_str("]}");
        }
        out.push_str("]>");
        out
    }
}

/// The operation or function that an edge attribute is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum On {
    Op(OpId),
    /// An operation, for the data flow into the given value: one of its results or an argument of its region.
    Flow(OpId, ValueId),
    /// The results of the function: the attribute of the first one holds all edges.
    Results,
}

pub(super) fn write(log: &Log, module: &mut Module, subject: &Subject<'_>) {
    let first = first_step(module);
    let mut all: IndexMap<On, Edges> = IndexMap::new();
    for (n, step) in log.steps.iter().enumerate() {
        let operands = match step.op {
            // The last tensor of a node that represents data flow into a result or region argument is that value; all others are its
            // sources.
            Some(op) if is_flow(module, subject, op) => step.slots.len() - 1,
            Some(op) => module.ops[op].operands.len(),
            None => 1,
        };
        let on = match step.op {
            Some(op) if is_flow(module, subject, op) => {
                let owner =
                    step.slots.last().and_then(|&slot| subject.graph.values.get(slot as usize).copied());
                let Some(owner) = owner.flatten() else { continue };
                On::Flow(op, owner)
            }
            Some(op) => On::Op(op),
            None => On::Results,
        };
        // A data-flow edge operation has one operand, so index 0 stands for all values that flow into it.
        let joins = step.op.is_some_and(|op| matches!(module.ops[op].kind, OpKind::DataFlowEdge(_)));
        let operands = if joins { step.slots.len() - 1 } else { operands };
        let end = |tensor: u32| -> End {
            let is_result = tensor as usize >= operands;
            match is_result {
                true => (true, tensor - operands as u32),
                false => (false, if joins { 0 } else { tensor }),
            }
        };
        let mesh = step.slots.iter().find_map(|&slot| subject.mesh(module, slot));
        let edges = all.entry(on).or_default();
        edges.mesh = edges.mesh.or(mesh);
        for i in step.axes.iter() {
            let (from, to) = (end(i.from), end(i.tensor));
            if from != to {
                edges.add(first + n, i.axis, from, to);
            }
        }
    }
    let mut all: Vec<(On, Edges)> = all.into_iter().filter(|(_, edges)| !edges.steps.is_empty()).collect();
    // Edges of one operation are listed in the order of its results or arguments.
    all.sort_by_key(|(on, _)| match on {
        On::Flow(_, owner) => match module.values[*owner].def() {
            ValueDef::Result(_, i) | ValueDef::Arg(_, i) => i,
        },
        On::Op(_) | On::Results => 0,
    });
    for (on, edges) in all {
        let Some(mesh) = edges.mesh.map(|id| &module.meshes[id]) else { continue };
        let attr = Attr::Raw(edges.text(mesh).into());
        match on {
            On::Op(op) if edges.names_written(module, op) => module.ops[op].attrs.set(EDGES, attr),
            On::Op(_) => {}
            On::Flow(op, owner) => {
                let name = match module.values[owner].def() {
                    ValueDef::Result(..) => RESULT_EDGES,
                    ValueDef::Arg(..) => ARG_EDGES,
                };
                let attrs = &mut module.ops[op].attrs;
                let mut list = match attrs.remove(name) {
                    Some(Attr::Array(list)) => list,
                    _ => Vec::new(),
                };
                list.push(attr);
                attrs.set(name, Attr::Array(list));
            }
            On::Results => {
                let Some(func) = subject.main else { continue };
                let attrs = &mut module.funcs[func].res_attrs;
                if attrs.is_empty() {
                    attrs.push(AttrDict::new());
                }
                attrs[0].set(EDGES, attr);
            }
        }
    }
}

/// Whether the nodes of `op` in the propagation graph represent data flow into its results or regions, rather than its sharding rule.
fn is_flow(module: &Module, subject: &Subject<'_>, op: OpId) -> bool {
    !subject.has_edges && owns_results(&module.ops[op].kind)
}

/// Writes the edges of constraints that were applied to their operands: each counts as a step before the steps of propagation.
pub(in crate::propagate) fn write_constraints(module: &mut Module, given: &[(ValueId, AnnotationSource)]) {
    let first = first_step(module);
    let ops = given.iter().filter_map(|&(_, annotation)| match annotation {
        AnnotationSource::Constraint(op) => Some(op),
        _ => None,
    });
    for (n, op) in ops.enumerate() {
        let OpKind::ShardingConstraint(id) = module.ops[op].kind else { continue };
        let sharding = module.shardings.get(id);
        let mut edges = Edges::default();
        for axis in sharding.split_axes() {
            edges.add(first + n, axis, (true, 0), (false, 0));
        }
        let text = edges.text(&module.meshes[sharding.mesh]);
        if !edges.steps.is_empty() {
            module.ops[op].attrs.set(EDGES, Attr::Raw(text.into()));
        }
    }
}

/// Returns the first step number that no operation's edges use yet.
fn first_step(module: &Module) -> usize {
    let mut next = 0;
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        let Some(Attr::Raw(text)) = module.ops[op].attrs.get(EDGES) else { continue };
        for part in text.split("step-").skip(1) {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            if let Some(step) = part.get(..digits).and_then(|n| n.parse::<usize>().ok()) {
                next = next.max(step + 1);
            }
        }
    }
    next
}
