//! Shardy's debugging attributes for propagation.
//!
//! * *Origins* (`debug-sharding-origins`): for every axis of every value, the argument, result, constraint or manual computation that it
//!   comes from.
//! * *Edges* (`debug-propagation-edge-sharding`): for every operation, which axis it propagated in which step, and from which operand or
//!   result to which others.
//!
//! The format and placement of the attributes, the counting of steps, and the choice between two origins are Shardy's.
//! [`Provenance`](super::Provenance) records more, in its own format.

mod edges;
mod origins;

use std::rc::Rc;

use rustc_hash::FxHashMap;
use shardc_ir::{AxisRef, EntityRef, FuncId, MeshId, Module, OpId, ShardingId};
use smallvec::SmallVec;

use super::graph::{Graph, NONE};
use super::projection::TensorFactors;
use crate::rules::sharding_rule::ShardingRule;
use crate::sharding::sub_axes::{Prefix, prefix_of, push_merged};

pub(super) use edges::write_constraints;

/// Selects Shardy's debugging attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DebugOptions {
    /// The origin of each axis: `sdy.sharding_origins`.
    pub origins: bool,
    /// The operation that propagated each axis: `sdy.propagation_edges`.
    pub edges: bool,
}

impl DebugOptions {
    /// Whether any debugging attribute is selected.
    #[must_use]
    pub fn any(self) -> bool {
        self.origins || self.edges
    }
}

/// An axis that an operation propagates to one of its tensors, and the tensor that the axis comes from.
#[derive(Clone, Copy, Debug)]
struct Introduced {
    tensor: u32,
    axis: AxisRef,
    from: u32,
}

/// One propagation step: a change to the shardings of an operation's tensors, or of a returned value and its function result.
#[derive(Debug)]
struct EdgeStep {
    op: Option<OpId>,
    slots: SmallVec<[u32; 4]>,
    axes: Rc<[Introduced]>,
}

/// A log of the changes to shardings in one propagation run.
#[derive(Debug, Default)]
pub(super) struct Log {
    known: FxHashMap<Box<[u32]>, Rc<[Introduced]>>,
    steps: Vec<EdgeStep>,
}

/// The data of one propagation run: the graph, the initial and final shardings of its slots (groups of values that share a sharding), and
/// the function whose results participate.
pub(super) struct Subject<'a> {
    pub(super) graph: &'a Graph,
    pub(super) given: &'a [u32],
    /// The final sharding of each slot.
    pub(super) shardings: &'a [u32],
    pub(super) main: Option<FuncId>,
    /// Whether data flow is explicit, through edge operations.
    pub(super) has_edges: bool,
}

impl Subject<'_> {
    /// Returns the mesh of the final sharding of `slot`, a group of values that share a sharding.
    fn mesh(&self, module: &Module, slot: u32) -> Option<MeshId> {
        let id = *self.shardings.get(slot as usize)?;
        (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize)).mesh)
    }
}

impl Log {
    /// Records a change to the shardings of an operation's tensors. The arguments are those of
    /// [`Recorder::carried`](super::provenance::Recorder).
    pub(super) fn step(
        &mut self,
        module: &Module,
        rule: &ShardingRule,
        key: &[u32],
        slots: &[u32],
        new: &[(u32, u32)],
        op: Option<OpId>,
    ) {
        let axes = match self.known.get(key) {
            Some(axes) => Rc::clone(axes),
            None => {
                let axes: Rc<[Introduced]> = introduced(module, rule, &key[2..], new).into();
                self.known.insert(key.into(), Rc::clone(&axes));
                axes
            }
        };
        self.steps.push(EdgeStep { op, slots: SmallVec::from_slice(slots), axes });
    }

    /// Writes the selected attributes.
    pub(super) fn write(&self, module: &mut Module, subject: &Subject<'_>, options: DebugOptions) {
        if options.origins {
            origins::write(self, module, subject);
        }
        if options.edges {
            edges::write(self, module, subject);
        }
    }
}

/// Returns the new axes of each tensor. If a list extends an existing sub-axis, the longer sub-axis is reported.
fn introduced(module: &Module, rule: &ShardingRule, old: &[u32], new: &[(u32, u32)]) -> Vec<Introduced> {
    let get = |id: u32| (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize)));
    let Some(mesh) = new.iter().find_map(|&(_, id)| get(id)).map(|s| &module.meshes[s.mesh]) else {
        return Vec::new();
    };
    let mappings: SmallVec<[_; 8]> = rule.tensors().collect();
    let before: SmallVec<[TensorFactors; 8]> = mappings
        .iter()
        .zip(old)
        .map(|(mapping, &id)| TensorFactors::new(mesh, &rule.factors, mapping, get(id)))
        .collect();
    let mut out: Vec<Introduced> = Vec::new();
    for &(tensor, id) in new {
        let mapping = mappings[tensor as usize];
        let after = TensorFactors::new(mesh, &rule.factors, mapping, get(id));
        let start = out.len();
        for factors in &mapping.dims {
            let mut previous: Option<AxisRef> = None;
            for &f in factors {
                let axes = |t: &TensorFactors| t.factors[usize::from(f)].as_ref().map(|s| s.axes.clone());
                let (Some(had), Some(has)) = (axes(&before[tensor as usize]), axes(&after)) else { continue };
                let Some(&last) = has.last() else { continue };
                if had == has {
                    continue;
                }
                // Adjacent sub-axes of one axis on a dimension are merged.
                let mut joined = SmallVec::new();
                joined.extend(previous);
                push_merged(mesh, &mut joined, last);
                if let (Some(previous), [merged]) = (previous, joined.as_slice()) {
                    let merged = *merged;
                    out.retain(|i| i.tensor != tensor || i.axis != previous);
                    joined.clear();
                    joined.push(merged);
                } else {
                    joined.clear();
                    joined.push(last);
                }
                previous = Some(last);
                let source = before
                    .iter()
                    .position(|t| axes(t).is_some_and(|axes| prefix_of(&has, &axes) != Prefix::No));
                let Some(from) = source else { continue };
                let mut whole = has.clone();
                if let (Some(end), Some(&axis)) = (whole.last_mut(), joined.first()) {
                    *end = axis;
                }
                let longer = had.len().checked_sub(1).filter(|&i| whole.get(i) != had.get(i));
                for axis in longer.and_then(|i| whole.get(i)).into_iter().chain(whole.iter().skip(had.len()))
                {
                    if !out[start.min(out.len())..].iter().any(|i| i.axis == *axis) {
                        out.push(Introduced { tensor, axis: *axis, from: from as u32 });
                    }
                }
            }
        }
    }
    out
}
