//! Activation checkpointing of a step that already has a backward pass (Chen et al., "Training Deep Nets with Sublinear Memory
//! Cost", 2016).
//!
//! Values of a unit that the backward pass reads are rematerialized from the unit's inputs instead of being saved. A barrier ties the
//! recomputation to the incoming gradient of the unit. Without the barrier, CSE would merge the recomputation with the original values.
//! The barrier also depends on the parameter gradients of later units. Without this dependence, the TPU compiler's scheduler keeps the
//! rematerialized values of two units in memory at the same time (1.6 times the temporaries in a step of four layers of Llama 2 70B).
//!
//! Results do not change: only pure operations are recomputed. [`stages`] assigns operations to units and chooses the values to save.

mod stages;
mod sums;

use rustc_hash::FxHashMap;
use shardc_analysis::transforms::dce::dce;
use shardc_ir::{InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, ValueId, ValueMap, clone_op};

use crate::flow;
use crate::roles::Roles;
use crate::units::Units;
use stages::Stages;
use sums::Sums;

/// Rematerializes the units of a body without calls in its backward pass, except the last unit, whose backward pass follows
/// immediately. Returns the number of rematerialized units.
pub(crate) fn checkpoint(
    module: &mut Module,
    body: RegionId,
    roles: &Roles,
    units: &Units,
    has_batch: &dyn Fn(ValueId) -> bool,
) -> usize {
    let Some(stages) = Stages::of(module, body, roles, units) else { return 0 };
    let all = asked_again(module, body, &stages, has_batch);
    let mut insertions = Insertions::default();
    let again =
        (0..).zip(&all).filter(|&of| compute_again(module, body, &stages, of, &mut insertions)).count();
    insertions.apply(module, body, &ValueMap::new(), |_| false);
    dce(module, body);
    again
}

/// The rematerialized values of a stage.
#[derive(Default)]
struct Again {
    /// The first operation of the backward pass that reads a rematerialized value, and the incoming gradient of that operation.
    first: Option<(OpId, ValueId)>,
    /// The users of each rematerialized value, and of each parameter gradient on which the barrier depends.
    readers: Vec<(OpId, ValueId)>,
}

/// Chooses the values to rematerialize for the backward pass, by stage.
fn asked_again(
    module: &Module,
    body: RegionId,
    stages: &Stages,
    has_batch: &dyn Fn(ValueId) -> bool,
) -> Vec<Again> {
    let mut all: Vec<Again> = (0..stages.last()).map(|_| Again::default()).collect();
    let place: FxHashMap<OpId, usize> = module.regions[body].ops.iter().copied().zip(0..).collect();
    let users = flow::users(module, body);
    let mut sums = Sums::new(module, stages, &users, has_batch);
    // For each parameter gradient, the stage whose barrier depends on the gradient.
    let mut waiting: FxHashMap<ValueId, u32> = FxHashMap::default();
    // The backward pass visits the stages from last to first.
    let mut now = stages.last();
    let end = module.terminator(body);
    for &op in module.regions[body].ops.iter().filter(|&&op| stages.is_backward(op) || Some(op) == end) {
        let read = flow::reads(module, op);
        for &value in &read {
            if let Some(&stage) = waiting.get(&value) {
                all[stage as usize].readers.push((op, value));
            }
            let Some(stage) = stages.stage_for(module, value, now) else { continue };
            let again = &mut all[stage as usize];
            if again.first.is_none() {
                again.first = gradient(module, stages, &read, has_batch).map(|gradient| (op, gradient));
                if again.first.is_some() {
                    waiting.extend(sums.take().into_iter().map(|sum| (sum, stage)));
                }
            }
            // A value that cannot be recomputed at the position of `first` is saved instead.
            let can_compute = |first: OpId| {
                // Operations in regions have no position; their parent operations do.
                let is_before = |op| place.get(&op).is_none_or(|at| at < &place[&first]);
                stages.can_compute(module, stage, value, is_before)
            };
            if again.first.is_some_and(|(first, _)| can_compute(first)) {
                again.readers.push((op, value));
                now = now.min(stage);
            }
        }
        sums.pass(op);
    }
    all
}

/// Returns the nearest activation gradient that an operation of the backward pass depends on.
fn gradient(
    module: &Module,
    stages: &Stages,
    read: &[ValueId],
    has_batch: &dyn Fn(ValueId) -> bool,
) -> Option<ValueId> {
    flow::nearest(module, read, |op| stages.is_backward(op), has_batch)
}

/// Rematerializes values of a stage: inserts a barrier with the incoming gradient before the first user, then copies of the producers, and
/// makes the users read the copies. Returns whether it rematerialized any value.
fn compute_again(
    module: &mut Module,
    body: RegionId,
    stages: &Stages,
    (stage, again): (u32, &Again),
    insertions: &mut Insertions,
) -> bool {
    let Some((first, gradient)) = again.first else { return false };
    let values = again.readers.iter().map(|&(_, value)| value);
    let (ops, inputs) = stages.cone(module, body, stage, values);
    let mut place = InsertionPoint::Before(first);
    let behind: Vec<ValueId> = inputs.iter().copied().chain([gradient]).collect();
    let types: Vec<_> = behind.iter().map(|&value| module.values[value].ty).collect();
    let barrier = module.add_op(OpKind::OptimizationBarrier, &behind, &types, &[]);
    (module.ops[barrier].loc, module.ops[barrier].span) = (module.ops[first].loc, module.ops[first].span);
    insertions.insert(&mut place, barrier);
    let mut map = ValueMap::new();
    for (&input, &held) in inputs.iter().zip(&module.ops[barrier].results) {
        map.insert(input, held);
    }
    for op in ops {
        let copy = clone_op(module, op, &mut map);
        insertions.insert(&mut place, copy);
    }
    for &(reader, value) in &again.readers {
        flow::replace(module, reader, |read| (read == value).then(|| map.get(value)));
    }
    true
}
