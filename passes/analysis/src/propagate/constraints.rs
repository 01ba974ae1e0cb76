//! Applies sharding constraints to their operands.
//!
//! A constraint shards a value for its later users. If the value has no sharding, and no constraint on it specifies another sharding, the
//! value itself gets the same sharding. A value with data flow into or out of a region gets no sharding: its other users read the
//! constrained value instead.

use rustc_hash::FxHashMap;
use shardc_ir::{
    InsertionPoint, Insertions, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ShardingId,
    TensorSharding, Uses, ValueDef, ValueId, ValueMap,
};

use super::flow::owns_results;
use super::subjects::AnnotationSource;
use crate::sharding::access::ShardingAccess;

/// How data flow is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The semantics of loops, branches, barriers and computations define data flow.
    Implied,
    /// Only `sdy.data_flow_edge` operations define data flow.
    Edges,
}

/// Applies every constraint under these function bodies to its operand. Returns the values that got a sharding, each with the annotation
/// that the sharding comes from.
pub(super) fn apply(
    module: &mut Module,
    bodies: &[RegionId],
    flow: Flow,
) -> Vec<(ValueId, AnnotationSource)> {
    // Operations are collected first, so that constraints that `manual` inserts are not visited.
    let ops: Vec<OpId> = bodies.iter().flat_map(|&body| module.walk_inner_first(body)).collect();
    if !ops.iter().any(|&op| is_constraint(module, op)) {
        return Vec::new();
    }
    let mut applier = Applier {
        flow,
        places: ShardingAccess::new(module),
        uses: LiveUses { at_start: module.uses(), changed: FxHashMap::default() },
        layout: Layout::new(module, bodies),
        given: Vec::new(),
    };
    for op in ops {
        match &module.ops[op].kind {
            &OpKind::ShardingConstraint(sharding) => applier.constraint(module, op, sharding),
            OpKind::ManualComputation(spec) => {
                let shardings = spec.in_shardings.clone();
                applier.manual(module, op, &shardings);
            }
            _ => {}
        }
    }
    applier.layout.insertions.apply_to(module, bodies.to_vec(), &ValueMap::new(), |_| false);
    applier.given
}

fn is_constraint(module: &Module, op: OpId) -> bool {
    is_sharding_constraint(module, op) || matches!(module.ops[op].kind, OpKind::ManualComputation(_))
}

fn is_sharding_constraint(module: &Module, op: OpId) -> bool {
    matches!(module.ops[op].kind, OpKind::ShardingConstraint(_))
}

/// The uses of values, kept up to date while operands are replaced.
struct LiveUses {
    at_start: Uses,
    changed: FxHashMap<ValueId, Vec<(OpId, u32)>>,
}

impl LiveUses {
    fn of(&self, value: ValueId) -> &[(OpId, u32)] {
        self.changed.get(&value).map_or_else(|| self.at_start.of(value), Vec::as_slice)
    }

    /// Replaces `old` by `new` in the uses that `which` selects.
    fn replace(
        &mut self,
        module: &mut Module,
        old: ValueId,
        new: ValueId,
        which: impl Fn(&Module, OpId) -> bool,
    ) {
        let (moved, kept): (Vec<_>, Vec<_>) = self.of(old).iter().partition(|(op, _)| which(module, *op));
        for &(op, i) in &moved {
            module.ops[op].operands[i as usize] = new;
        }
        let mut all = self.of(new).to_vec();
        all.extend(moved);
        self.changed.insert(old, kept);
        self.changed.insert(new, all);
    }
}

/// The positions of operations. Some operations move directly after the definition of a value. Regions are reordered once, at the end.
struct Layout {
    region: SecondaryMap<OpId, PackedOption<RegionId>>,
    /// The position in the region, from 1. A moved operation has the position of the definition that it follows, and a rank among the
    /// operations that move there.
    place: SecondaryMap<OpId, (u32, u32)>,
    insertions: Insertions,
    /// The number of operations that were moved so far.
    moves: u32,
}

impl Layout {
    fn new(module: &Module, bodies: &[RegionId]) -> Self {
        let mut out = Layout {
            region: SecondaryMap::new(),
            place: SecondaryMap::new(),
            insertions: Insertions::default(),
            moves: 0,
        };
        for region in bodies.iter().flat_map(|&body| module.regions_under(body)) {
            for (at, &op) in module.regions[region].ops.iter().enumerate() {
                out.region[op] = region.into();
                out.place[op] = (at as u32 + 1, 0);
            }
        }
        out
    }

    /// Moves an operation directly after the definition of a value. The definition itself must not have been moved.
    fn move_after(&mut self, module: &Module, op: OpId, value: ValueId) {
        let (region, at) = match module.values[value].def() {
            ValueDef::Arg(region, _) => (region, 0),
            ValueDef::Result(def, _) => {
                let Some(region) = self.region[def].expand() else { return };
                (region, self.place[def].0)
            }
        };
        // The operation that moved last is closest to the definition.
        self.moves += 1;
        // The new position is between the definition, `(at, 0)`, and the next operation, `(at + 1, 0)`. The rank counts down, so that an
        // operation that moves later to the same definition sorts first, as in `Insertions`.
        self.place[op] = (at, u32::MAX - self.moves);
        self.insertions.move_to(&mut InsertionPoint::behind(module, value), op);
        self.region[op] = region.into();
    }

    fn is_before(&self, a: OpId, b: OpId) -> bool {
        self.region[a] == self.region[b] && self.place[a] < self.place[b]
    }
}

struct Applier {
    flow: Flow,
    places: ShardingAccess,
    uses: LiveUses,
    layout: Layout,
    /// The values that got a sharding, each with the annotation that the sharding comes from.
    given: Vec<(ValueId, AnnotationSource)>,
}

impl Applier {
    fn constraint(&mut self, module: &mut Module, op: OpId, sharding: ShardingId) {
        let (Some(&input), Some(&result)) = (module.ops[op].operands.first(), module.ops[op].results.first())
        else {
            return;
        };
        self.replace_after_chain(module, op, input);
        if !self.should_apply(module, input, sharding) {
            return;
        }
        if self.flows(module, input) {
            self.layout.move_after(module, op, input);
            self.stand_in(module, input, op, result, sharding);
        } else {
            // Callers pass an unannotated parameter as a reduced value, not as partial sums. So the parameter gets the sharding without its
            // unreduced axes, and the constraint converts the value to partial sums.
            let is_whole = self.flow == Flow::Implied && self.is_parameter(module, input);
            let sharding = match module.shardings.get(sharding) {
                given if is_whole && !given.unreduced.is_empty() => {
                    let completed = given.completed();
                    module.shardings.intern(completed)
                }
                _ => sharding,
            };
            self.places.set(module, input, sharding);
            self.given.push((input, AnnotationSource::Constraint(op)));
        }
    }

    fn is_parameter(&self, module: &Module, value: ValueId) -> bool {
        matches!(module.values[value].def(), ValueDef::Arg(region, _) if self.places.parent(region).is_none())
    }

    fn manual(&mut self, module: &mut Module, op: OpId, shardings: &[ShardingId]) {
        for (i, &sharding) in shardings.iter().enumerate() {
            let Some(&input) = module.ops[op].operands.get(i) else { continue };
            if !self.should_apply(module, input, sharding) {
                continue;
            }
            if !self.flows(module, input) {
                self.places.set(module, input, sharding);
                self.given.push((input, AnnotationSource::ManualIn(op, i as u32)));
                continue;
            }
            let ty = module.values[input].ty;
            let new = module.add_op(OpKind::ShardingConstraint(sharding), &[input], &[ty], &[]);
            (module.ops[new].span, module.ops[new].loc) = (module.ops[op].span, module.ops[op].loc);
            let result = module.ops[new].results[0];
            self.layout.move_after(module, new, input);
            self.stand_in(module, input, new, result, sharding);
            // `stand_in` has already copied the uses of `input` from `at_start` to `changed`. A new entry here would hide those uses.
            self.uses.changed.entry(input).or_default().push((new, 0));
        }
    }

    /// Makes all users of `input`, except `constraint`, read the constraint's result.
    fn stand_in(
        &mut self,
        module: &mut Module,
        input: ValueId,
        constraint: OpId,
        result: ValueId,
        sharding: ShardingId,
    ) {
        self.uses.replace(module, input, result, |_, user| user != constraint);
        // Unreduced axes do not propagate, so the input itself gets them, in a sharding that is otherwise open.
        let given = module.shardings.get(sharding);
        if !given.unreduced.is_empty() {
            let pending = TensorSharding {
                unreduced: given.unreduced.clone(),
                reduction: given.reduction,
                ..TensorSharding::open(given.mesh, module.rank(input))
            };
            let pending = module.shardings.intern(pending);
            self.places.set(module, input, pending);
        }
    }

    /// Whether `sharding`, the sharding of a constraint on `input`, is to be applied to `input` itself.
    fn should_apply(&self, module: &mut Module, input: ValueId, sharding: ShardingId) -> bool {
        if self.places.owner(module, input).is_none()
            || self.places.get(module, input).is_some()
            || module.shardings.get(sharding).dims.iter().any(|d| d.open)
        {
            return false;
        }
        !self.uses.of(input).iter().any(|&(op, i)| match &module.ops[op].kind {
            OpKind::ShardingConstraint(other) => *other != sharding,
            OpKind::ManualComputation(spec) => {
                spec.in_shardings.get(i as usize).is_some_and(|&other| other != sharding)
            }
            _ => false,
        })
    }

    /// Whether a value shares its sharding with other values because its data flows into or out of a region.
    fn flows(&self, module: &Module, value: ValueId) -> bool {
        if module.def_op(value).is_some_and(|op| matches!(module.ops[op].kind, OpKind::DataFlowEdge(_))) {
            return true;
        }
        match self.flow {
            Flow::Edges => self.places.owner(module, value).is_some_and(|v| self.places.edge(v).is_some()),
            Flow::Implied => match module.values[value].def() {
                ValueDef::Result(op, _) => owns_results(&module.ops[op].kind),
                ValueDef::Arg(region, _) => self.places.parent(region).is_some(),
            },
        }
    }

    /// In a chain of constraints whose intermediate values have no other users, later users of the first operand read the last result.
    fn replace_after_chain(&mut self, module: &mut Module, head: OpId, input: ValueId) {
        let Some(tail) = self.chain_tail(module, head, input) else { return };
        let Some(region) = self.layout.region[tail].expand() else { return };
        let to_function = self.places.parent(region).is_none();
        let result = module.ops[tail].results[0];
        let layout = &self.layout;
        self.uses.replace(module, input, result, |module, user| {
            let leaves = to_function && matches!(module.ops[user].kind, OpKind::Return);
            user != head && !leaves && layout.is_before(tail, user)
        });
    }

    fn chain_tail(&self, module: &mut Module, head: OpId, input: ValueId) -> Option<OpId> {
        if module.def_op(input).is_some_and(|op| is_sharding_constraint(module, op))
            || self.places.get(module, input).is_some()
        {
            return None;
        }
        let module = &*module;
        let other_constraint = |value: ValueId| {
            self.uses.of(value).iter().any(|&(op, _)| op != head && is_constraint(module, op))
        };
        if other_constraint(input) {
            return None;
        }
        let mut tail = head;
        while let [(next, _)] = *self.uses.of(module.ops[tail].results[0])
            && is_sharding_constraint(module, next)
        {
            tail = next;
        }
        (tail != head && !other_constraint(module.ops[tail].results[0])).then_some(tail)
    }
}
