//! User priorities: delays dimensions until their priority is due.
//!
//! A dimension with priority `n > 0` is empty and closed, and its axes are replicated, until all dimensions with lower numbers have
//! propagated.

use shardc_ir::{AxisList, DimSharding, EntityRef, Module, ShardingId, TensorSharding};

use super::engine::Engine;
use super::graph::NONE;

/// The dimensions that wait for the same user priority.
pub(super) struct Level {
    priority: u32,
    /// The slots (stored shardings) that have a dimension of this priority, with the sharding that the user gave.
    waiting: Vec<(u32, ShardingId)>,
}

/// Removes the axes of every dimension with a user priority above 0. Returns these dimensions grouped by priority, in ascending order.
pub(super) fn begin(engine: &mut Engine<'_>) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for slot in 0..engine.shardings.len() {
        if engine.shardings[slot] == NONE {
            continue;
        }
        let id = ShardingId::new(engine.shardings[slot] as usize);
        let given = engine.module.shardings.get(id);
        if given.dims.iter().all(|d| d.priority.is_none()) {
            continue;
        }
        let mut first = given.clone();
        for dim in &mut first.dims {
            let priority = dim.priority.take().unwrap_or(0);
            if priority == 0 {
                continue;
            }
            // The dimension is closed and its axes are marked as replicated, so that neither is used before the priority of the dimension
            // is due.
            first.replicated.extend(std::mem::take(dim).axes);
            match levels.iter_mut().find(|level| level.priority == priority) {
                // The value has another dimension with this priority. Slots are visited in order, so only the last entry can be the same.
                Some(level) if level.waiting.last() == Some(&(slot as u32, id)) => {}
                Some(level) => level.waiting.push((slot as u32, id)),
                None => levels.push(Level { priority, waiting: vec![(slot as u32, id)] }),
            }
        }
        first.replicated.sort_unstable();
        engine.shardings[slot] = engine.module.shardings.intern(first).index() as u32;
    }
    levels.sort_by_key(|level| level.priority);
    levels
}

/// Removes the priorities of function results, which are no longer needed.
pub(super) fn forget_of_results(module: &mut Module) {
    for func in module.funcs.values_mut() {
        for id in &mut func.res_shardings {
            let Some(given) = id.expand().map(|id| module.shardings.get(id)) else { continue };
            if given.dims.iter().any(|d| d.priority.is_some()) {
                let mut plain = given.clone();
                plain.dims.iter_mut().for_each(|d| d.priority = None);
                *id = module.shardings.intern(plain).into();
            }
        }
    }
}

impl Level {
    /// Returns the user priority of these dimensions.
    pub(super) fn number(&self) -> u32 {
        self.priority
    }

    /// Restores the axes of the dimensions, whose priority is now due.
    pub(super) fn release(&self, engine: &mut Engine<'_>) {
        for &(slot, given) in &self.waiting {
            let now = engine.shardings[slot as usize];
            if now == NONE {
                continue;
            }
            let given = engine.module.shardings.get(given);
            let now = engine.module.shardings.get(ShardingId::new(now as usize));
            // The axes are taken from `given`: in `now`, delayed dimensions have no priority, and dimensions with earlier priorities may
            // have more axes.
            let is_due = |dim: &DimSharding| dim.priority.unwrap_or(0) == self.priority;
            let axes: AxisList =
                given.dims.iter().filter(|d| is_due(d)).flat_map(|d| d.axes.iter().copied()).collect();
            let next = TensorSharding {
                mesh: now.mesh,
                dims: now
                    .dims
                    .iter()
                    .zip(&given.dims)
                    .map(|(now, given)| {
                        if is_due(given) {
                            DimSharding { priority: None, ..given.clone() }
                        } else {
                            now.clone()
                        }
                    })
                    .collect(),
                replicated: now.replicated.iter().copied().filter(|a| !axes.contains(a)).collect(),
                unreduced: now.unreduced.clone(),
                reduction: now.reduction,
            };
            let next = engine.module.shardings.intern(next).index() as u32;
            engine.reset(slot, next);
        }
    }
}
