//! Which annotations speak first.
//!
//! Where the parameters and the batch of a training step are split along one axis (FSDP, ZeRO), both want the
//! activations: the batch splits their batch dimension, the parameters their features. Factor propagation knows
//! no cost and may let the parameters win, so that each layer gathers the activations of the whole batch rather
//! than its own weights. So the compiler partitions such a program twice, once as propagation has it and once with
//! the batch first, and keeps what sends less.

use std::collections::BTreeSet;

use shardc_ir::{Attr, FuncId, Module, ShardingId};

use crate::summary::{CollectiveSummary, summarize};

/// Which annotations propagation sees first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All at once, or as the program's own priorities say.
    #[default]
    AsAnnotated,
    /// Those of arguments that are not updated in place, then those of arguments that are (parameters and the
    /// state of the optimiser).
    BatchFirst,
}

/// The strategies that may differ for the entry function `func`: [`Strategy::BatchFirst`] only where an axis splits both
/// an argument that is updated in place and one that is not, and the program sets no priorities itself.
#[must_use]
pub fn strategies(module: &Module, func: FuncId) -> Vec<Strategy> {
    let mut axes = [BTreeSet::new(), BTreeSet::new()];
    let Some(body) = module.funcs[func].body else { return vec![Strategy::AsAnnotated] };
    for (i, &arg) in module.regions[body].args.iter().enumerate() {
        let Some(sharding) = module.shardings.sharding_of(arg) else { continue };
        if sharding.dims.iter().any(|d| d.priority.is_some()) {
            return vec![Strategy::AsAnnotated];
        }
        axes[usize::from(is_updated(module, func, i))].extend(sharding.split_axes().map(|a| a.axis));
    }
    if axes[0].is_disjoint(&axes[1]) {
        vec![Strategy::AsAnnotated]
    } else {
        vec![Strategy::AsAnnotated, Strategy::BatchFirst]
    }
}

/// Whether argument `i` gives its memory to a result.
pub(crate) fn is_updated(module: &Module, func: FuncId, i: usize) -> bool {
    module.funcs[func]
        .arg_attrs
        .get(i)
        .is_some_and(|a| a.get("tf.aliasing_output").is_some() || a.get("jax.buffer_donor").is_some())
}

/// Gives the annotations of `func` the priorities of a strategy.
pub fn prioritize(module: &mut Module, func: FuncId, strategy: Strategy) {
    let (Strategy::BatchFirst, Some(body)) = (strategy, module.funcs[func].body) else { return };
    let args = module.regions[body].args.clone();
    let mut results = BTreeSet::new();
    for (i, &arg) in args.iter().enumerate() {
        if !is_updated(module, func, i) {
            continue;
        }
        if let Some(&Attr::Int(result, _)) = module.funcs[func].arg_attrs[i].get("tf.aliasing_output") {
            results.extend(usize::try_from(result));
        }
        if let Some(id) = module.shardings.of(arg) {
            let later = later(module, id);
            module.shardings.set(arg, Some(later));
        }
    }
    for result in results {
        let declared = module.funcs[func].res_shardings.get(result).and_then(|s| s.expand());
        if let Some(id) = declared {
            let later = later(module, id);
            module.funcs[func].res_shardings[result] = later.into();
        }
    }
}

/// The same sharding, seen in the second round.
fn later(module: &mut Module, id: ShardingId) -> ShardingId {
    let mut sharding = module.shardings.get(id).clone();
    for dim in sharding.dims.iter_mut().filter(|d| !d.axes.is_empty()) {
        dim.priority = Some(1);
    }
    module.shardings.intern(sharding)
}

/// Whether one partition of a program is to be had rather than another, each told by its number of warnings and its
/// [`cost`].
#[must_use]
pub fn is_better(one: (usize, u64), other: (usize, u64)) -> bool {
    one.0 <= other.0 && one.1 < other.1
}

/// How often a loop is taken to run where nothing says so.
const LOOP_TRIPS: u64 = 8;

/// What a partitioned program costs beside another partition of the same program: the bytes that a device sends,
/// and a constant for each collective.
#[must_use]
pub fn cost(module: &Module) -> u64 {
    let runs =
        |kind: &CollectiveSummary| (kind.count - kind.in_loops) as u64 + kind.in_loops as u64 * LOOP_TRIPS;
    summarize(module).iter().map(|kind| sent(kind) + runs(kind) * crate::cost::START as u64).sum()
}

/// The bytes that a device sends in one run of a partitioned program.
#[must_use]
pub fn bytes_sent(module: &Module) -> u64 {
    summarize(module).iter().map(sent).sum()
}

fn sent(kind: &CollectiveSummary) -> u64 {
    kind.bytes_sent + kind.bytes_sent_in_loops * (LOOP_TRIPS - 1)
}
