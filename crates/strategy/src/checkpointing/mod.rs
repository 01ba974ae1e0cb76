//! Activation checkpointing of a step that has its backward part (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//!
//! What the backward part reads of a unit is computed once more from what goes into the unit, rather than kept. What is computed again
//! waits, behind a barrier, for the gradient that the unit gets: without it, a compiler would see that both do the same, and do it once.
//! It waits for gradients of parameters of units after it, too. Nothing else hurries a compiler to be done with these: the TPU
//! compiler's scheduler has what two units computed again in memory at one time without (1.6 times the temporaries of a step of four
//! layers of Llama 2 70B).
//!
//! Values are those of the step as it was: what is done again is pure. Which operations are of which unit, and what is kept, is the
//! matter of [`stages`].

mod stages;
mod sums;

use rustc_hash::FxHashMap;
use shardc_ir::{InsertionPoint, Insertions, Module, OpId, OpKind, RegionId, ValueId, ValueMap, clone_op};
use shardc_passes::transforms::dce::dce;

use crate::flow;
use crate::roles::Roles;
use crate::units::Units;
use stages::Stages;
use sums::Sums;

/// Computes units of a body without calls again for its backward part, but for the last one, whose gradients are asked for as soon as
/// it is done. Returns how many.
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

/// What is computed again of a stage.
#[derive(Default)]
struct Again {
    /// The first operation of the backward part that reads any of it, and the gradient that goes into that.
    first: Option<(OpId, ValueId)>,
    /// Who reads what of it, or a gradient of a parameter that it waits for.
    readers: Vec<(OpId, ValueId)>,
}

/// For each stage what the backward part reads of it.
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
    // The stages that wait for sums.
    let mut waiting: FxHashMap<ValueId, u32> = FxHashMap::default();
    // The backward part goes through the stages from the last one on.
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
            // What is read before is read as it is, and kept so long.
            let can_compute = |first: OpId| {
                // Operations in regions have no place: those that hold them have.
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

/// The nearest gradient of an activation that an operation of the backward part is computed from.
fn gradient(
    module: &Module,
    stages: &Stages,
    read: &[ValueId],
    has_batch: &dyn Fn(ValueId) -> bool,
) -> Option<ValueId> {
    flow::nearest(module, read, |op| stages.is_backward(op), has_batch)
}

/// Puts a copy of what values of a stage are computed by before the first reader, and lets readers read it. Returns whether there are
/// any.
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
