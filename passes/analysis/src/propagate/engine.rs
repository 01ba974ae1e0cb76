//! The fixed-point engine: a worklist algorithm over the nodes of the graph.
//!
//! The outcome of a visit depends only on the node's rule, its directions and the shardings of its tensors. Real programs repeat the same
//! few thousand combinations in every layer, so each outcome is memoized and a visit is a lookup.

use rustc_hash::FxHashMap;
use shardc_ir::{EntityRef, Interrupt, Mesh, MeshId, Module, ShardingId, TensorSharding};
use smallvec::SmallVec;

use super::factors::{Context, Direction, PropagationStrategy};
use super::graph::{Boundary, FuncResult, Graph, NONE, Node};
use super::projection::Projection;
use super::provenance::{Recorder, Via};
use super::schedule::Profile;
use super::{PropagateReport, manual};

/// The changes of a visit to a node: for each tensor that changes, its index in the node and its new sharding.
type Outcome = SmallVec<[(u32, u32); 3]>;

/// The key of a memoized outcome: the rule, the directions and strategy, then the sharding of each tensor.
type OutcomeKey = Box<[u32]>;

/// The state of propagation: the shardings of all slots (groups of values that share a sharding), and the nodes that are still to be
/// visited.
pub(super) struct Engine<'m> {
    pub(super) module: &'m mut Module,
    pub(super) graph: &'m Graph,
    /// The sharding of each slot, as an index into the interned shardings; [`NONE`] if it has none.
    pub(super) shardings: Vec<u32>,
    /// For each mesh, the representative of all equal meshes.
    meshes: Vec<MeshId>,
    outcomes: FxHashMap<OutcomeKey, Outcome>,
    /// For each node, the directions and strategy of the last visit that changed nothing, if its tensors have not changed since.
    settled: Vec<u32>,
    waiting: Vec<bool>,
    stack: Vec<u32>,
    /// The recorder of axis origins, if requested.
    pub(super) recorder: Option<Box<Recorder>>,
    /// A check that may end propagation early.
    pub(super) interrupt: Interrupt,
    pub(super) report: PropagateReport,
}

impl<'m> Engine<'m> {
    pub(super) fn new(module: &'m mut Module, graph: &'m Graph, shardings: Vec<u32>) -> Self {
        let meshes = module
            .meshes
            .iter()
            .map(|(id, mesh)| {
                // `IndexMap` equality ignores order, but axes are identified by index: `["x"=2,"y"=2]` and `["y"=2,"x"=2]` are different
                // meshes here.
                let same = |(other, _): &(MeshId, &Mesh)| {
                    let other = &module.meshes[*other];
                    other.axes == mesh.axes
                        && other.axes.keys().eq(mesh.axes.keys())
                        && other.device_ids == mesh.device_ids
                };
                module.meshes.iter().find(same).map_or(id, |(first, _)| first)
            })
            .collect();
        Engine {
            module,
            graph,
            shardings,
            meshes,
            outcomes: FxHashMap::default(),
            settled: vec![NONE; graph.nodes.len()],
            waiting: vec![false; graph.nodes.len()],
            stack: Vec::new(),
            recorder: None,
            interrupt: Interrupt::default(),
            report: PropagateReport::default(),
        }
    }

    /// Visits nodes until a fixed point, with the directions that `profile` defines for each node.
    pub(super) fn run(&mut self, strategy: PropagationStrategy, profile: &dyn Fn(&Node) -> Profile) {
        self.func_results(strategy);
        let graph = self.graph;
        // All nodes start on the worklist, including nodes that an earlier level visited: a comparison with `settled` skips nodes that
        // cannot change at this level.
        self.waiting.fill(true);
        self.stack.clear();
        // Nodes are pushed in reverse order, so that the first operation is on top of the stack.
        self.stack.extend((0..graph.nodes.len() as u32).rev());
        let mut until_check = 0_u32;
        while let Some(node) = self.stack.pop() {
            // The interrupt is checked only once in about 256 visits: reading the clock takes as long as a visit that changes nothing.
            until_check = match until_check.checked_sub(1) {
                Some(left) => left,
                None if self.interrupt.check().is_err() => return,
                None => 256,
            };
            self.waiting[node as usize] = false;
            let directions = profile(&graph.nodes[node as usize]);
            if !directions.is_none() {
                self.visit(node, strategy, directions);
            }
        }
        // Function results have no node that could be revisited, so they are updated again at the end: a returned value may have changed.
        self.func_results(strategy);
    }

    fn visit(&mut self, index: u32, strategy: PropagationStrategy, profile: Profile) {
        let graph = self.graph;
        let node = &graph.nodes[index as usize];
        // `code` never equals `NONE`, which means "not settled": the codes of profiles are below 20.
        let code = profile.code() * 2 + strategy as u32;
        // In a large program, a node is usually settled already; this check avoids the lookup.
        if self.settled[index as usize] == code {
            return;
        }
        let tensors = graph.tensors_of(node);
        let mut key: SmallVec<[u32; 12]> = SmallVec::new();
        key.push(node.rule);
        key.push(code);
        key.extend(
            tensors.iter().map(|&slot| if slot == NONE { NONE } else { self.shardings[slot as usize] }),
        );
        if let Some(last) = key.last_mut()
            && node.boundary != Boundary::No
        {
            // The last tensor of a node for data flow is the value that the data flows into. Its sharding is replaced before the lookup, so
            // that the memoized outcome depends on the sharding as seen by the node.
            *last = manual::seen_by_node(self.module, node.boundary, *last);
        }
        // If no tensor has a sharding, nothing propagates.
        if key[2..].iter().all(|&s| s == NONE) {
            return;
        }
        self.report.visits += 1;
        let outcome = self.outcome(&key, strategy, profile);
        if outcome.is_empty() {
            // A node is settled only after a visit without changes. After a change, `set` would reset the entry anyway, since the node
            // reads or writes the changed slot.
            self.settled[index as usize] = code;
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            let rule = &graph.rules[node.rule as usize].rule;
            recorder.carried(self.module, rule, &key, tensors, &outcome, Via::Op(node.op));
        }
        for (tensor, mut sharding) in outcome {
            let slot = tensors[tensor as usize];
            if slot == NONE {
                continue;
            }
            if node.boundary != Boundary::No && tensor as usize + 1 == tensors.len() {
                sharding = manual::held_by_slot(self.module, node.boundary, sharding);
            }
            self.update(slot, sharding, Some(index));
        }
    }

    /// Sets the sharding of a slot (of values that share a sharding) and of its sharding group. All nodes that read or write these slots
    /// return to the worklist, except node `by`.
    fn update(&mut self, slot: u32, sharding: u32, by: Option<u32>) {
        let graph = self.graph;
        self.set(slot, sharding, by);
        if let Some(&group) = graph.groups.get(&slot) {
            for &other in graph.group_members[group as usize].iter().filter(|&&other| other != slot) {
                self.record_group(slot, other, sharding);
                // No axis is lost: members start with equal shardings (`groups::join`), or with shardings without axes, and change
                // together.
                self.set(other, sharding, by);
            }
        }
    }

    fn set(&mut self, slot: u32, sharding: u32, by: Option<u32>) {
        self.report.updates += 1;
        self.shardings[slot as usize] = sharding;
        for &node in self.graph.notify(slot) {
            // `by` is reset but not put back on the worklist: it has already seen these shardings, and the next level visits it again.
            self.settled[node as usize] = NONE;
            if by.is_some() && by != Some(node) && !std::mem::replace(&mut self.waiting[node as usize], true)
            {
                // The node is pushed on top, so that changes propagate depth first, in Shardy's visiting order. The order matters if
                // annotations conflict: in basic propagation, the first sharding to arrive wins.
                self.stack.push(node);
            }
        }
    }

    /// Sets the sharding of `slot` without a node that propagated it, for example when annotations of the next user priority take effect.
    pub(super) fn reset(&mut self, slot: u32, sharding: u32) {
        self.set(slot, sharding, None);
    }

    /// Propagates between returned values and the results of the function.
    fn func_results(&mut self, strategy: PropagationStrategy) {
        let graph = self.graph;
        self.exchange(&graph.func_results, strategy, Via::Return);
    }

    /// Propagates between donated arguments and their results. Returns whether any sharding changed.
    pub(super) fn aliases(&mut self, strategy: PropagationStrategy) -> bool {
        let graph = self.graph;
        self.exchange(&graph.aliases, strategy, Via::Alias)
    }

    fn exchange(&mut self, pairs: &[FuncResult], strategy: PropagationStrategy, via: Via) -> bool {
        let profile = Profile::All(Direction::Both);
        let mut changed = false;
        for pair in pairs {
            let slots = [pair.value, pair.result];
            let ids = slots.map(|slot| self.shardings[slot as usize]);
            if ids == [NONE; 2] {
                continue;
            }
            let key = [pair.rule, profile.code() * 2 + strategy as u32, ids[0], ids[1]];
            let outcome = self.outcome(&key, strategy, profile);
            if let Some(recorder) = self.recorder.as_mut().filter(|_| !outcome.is_empty()) {
                let rule = &self.graph.rules[pair.rule as usize].rule;
                recorder.carried(self.module, rule, &key, &slots, &outcome, via);
            }
            for (tensor, sharding) in outcome {
                changed = true;
                if tensor == 0 {
                    // No node has to return to the worklist here. Before the loop in `run`, all nodes are on the worklist; changes after
                    // that loop are seen at the next level.
                    self.update(pair.value, sharding, None);
                } else {
                    // No node reads the sharding of a function result, so none is put back on the worklist.
                    self.shardings[pair.result as usize] = sharding;
                }
            }
        }
        changed
    }

    fn outcome(&mut self, key: &[u32], strategy: PropagationStrategy, profile: Profile) -> Outcome {
        if let Some(outcome) = self.outcomes.get(key) {
            return outcome.clone();
        }
        let outcome = self.compute(key, strategy, profile);
        self.outcomes.insert(key.into(), outcome.clone());
        outcome
    }

    fn compute(&mut self, key: &[u32], strategy: PropagationStrategy, profile: Profile) -> Outcome {
        let rule = &self.graph.rules[key[0] as usize];
        let old: SmallVec<[Option<&TensorSharding>; 8]> = key[2..]
            .iter()
            .map(|&s| (s != NONE).then(|| self.module.shardings.get(ShardingId::new(s as usize))))
            .collect();
        let Some(mesh_id) = self.common_mesh(&old) else { return Outcome::new() };
        let mesh = &self.module.meshes[mesh_id];
        if mesh.is_maximal() {
            return Outcome::new();
        }
        let mut projection = Projection::new(mesh, &rule.rule, old.iter().copied());
        let factors = &rule.rule.factors;
        let direction = |f: usize| -> Direction { profile.direction(factors[f].kind, factors[f].blocked) };
        let context = Context {
            mesh,
            factors,
            direction: &direction,
            elementwise: rule.elementwise,
            conservative: rule.conservative,
        };
        let changed = context.propagate(strategy, &mut projection);
        let mut new: SmallVec<[(u32, TensorSharding); 3]> = SmallVec::new();
        for (i, mapping) in rule.rule.tensors().enumerate() {
            if !changed[i] {
                continue;
            }
            let sharding = projection.tensors[i].sharding(mesh, mesh_id, factors, mapping);
            // An open sharding without axes is equivalent to no sharding; storing it would reschedule the users.
            let same = match old[i] {
                Some(old) => *old == sharding,
                None => {
                    sharding.is_unsplit() && sharding.replicated.is_empty() && sharding.unreduced.is_empty()
                }
            };
            if !same {
                new.push((i as u32, sharding));
            }
        }
        // `old` borrows the sharding table, which interning may grow.
        drop(old);
        new.into_iter().map(|(i, s)| (i, self.module.shardings.intern(s).index() as u32)).collect()
    }

    /// Returns the mesh that all shardings refer to. If several equal meshes are used, returns the mesh of the first sharding. A mesh
    /// without axes is compatible with any other.
    fn common_mesh(&self, shardings: &[Option<&TensorSharding>]) -> Option<MeshId> {
        let mut found: Option<MeshId> = None;
        let is_empty = |id: MeshId| {
            let mesh = &self.module.meshes[id];
            mesh.axes.is_empty() && mesh.device_ids.is_none()
        };
        let same = |a: MeshId, b: MeshId| self.meshes[a.index()] == self.meshes[b.index()];
        // Axes of different meshes cannot be compared by index, so nothing propagates between them.
        for mesh in shardings.iter().flatten().map(|sharding| sharding.mesh) {
            match found {
                Some(first) if same(first, mesh) || is_empty(mesh) => {}
                Some(first) if !is_empty(first) => return None,
                _ => found = Some(mesh),
            }
        }
        found
    }

    /// Records the provenance of a slot (of values that share a sharding) that gets the sharding of another member of its sharding group.
    fn record_group(&mut self, from: u32, to: u32, sharding: u32) {
        if let Some(recorder) = &mut self.recorder
            && sharding != NONE
        {
            let sharding = self.module.shardings.get(ShardingId::new(sharding as usize));
            recorder.grouped(&self.module.meshes[sharding.mesh], from, to, sharding);
        }
    }
}
