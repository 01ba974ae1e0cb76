//! Propagation strategies: which annotations propagate first.
//!
//! Parameters and batch may be sharded along the same axis (FSDP, ZeRO). They then compete for activations: the batch
//! shards the batch dimension, the parameters shard features. Propagation has no cost model. If the parameters win,
//! each layer all-gathers the activations of the whole batch instead of its weights. So the driver partitions such a program twice: with
//! all annotations in one round, and with the batch first. It keeps the second partition if it exceeds device memory by fewer bytes, or
//! by the same amount at a lower [`cost`]. An attempt that propagates the same shardings as the first ends early.
//!
//! Heuristic for finding the batch, in a program without user priorities:
//!
//! * An axis shards both donated and other arguments (a training step): the batch is every argument that is not donated.
//! * No donated argument is sharded, but others are: among the dimension classes that compete for an axis, the batch is
//!   the one with the highest number of values per sharded argument.
//! * Otherwise there is no second strategy.

use std::collections::{BTreeMap, BTreeSet};

use shardc_ir::{AttrDict, FuncId, Module, ShardingId, TensorSharding, ValueId};

use crate::collectives::clean::CleanReport;
use crate::cost::CostModel;
use crate::cost::memory::temporaries;
use crate::cost::traffic::{CollectiveSummary, summarize};
use crate::propagate::DimensionClasses;

/// Which annotations propagate first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All annotations propagate in one round, or in the order of the program's user priorities.
    #[default]
    AsAnnotated,
    /// The annotations of the batch propagate first, then those of parameters and optimizer state.
    BatchFirst,
}

impl Strategy {
    /// Returns a short name: `as-annotated`, `batch-first`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::AsAnnotated => "as-annotated",
            Strategy::BatchFirst => "batch-first",
        }
    }
}

/// Returns the strategies to try for the entry function `func`. [`Strategy::BatchFirst`] is included only if arguments compete
/// for an axis and the program has no user priorities.
#[must_use]
pub fn strategies(module: &Module, func: FuncId) -> Vec<Strategy> {
    let mut out = vec![Strategy::AsAnnotated];
    if !batch(module, func).is_empty() {
        out.push(Strategy::BatchFirst);
    }
    out
}

/// Returns the indices of the arguments that [`Strategy::BatchFirst`] propagates first; empty if both strategies would give the same
/// result.
fn batch(module: &Module, func: FuncId) -> BTreeSet<usize> {
    let Some(body) = module.funcs[func].body else { return BTreeSet::new() };
    let args = &module.regions[body].args;
    let mut axes = [BTreeSet::new(), BTreeSet::new()];
    for (i, &arg) in args.iter().enumerate() {
        let Some(sharding) = module.shardings.sharding_of(arg) else { continue };
        // If the user set priorities, `BatchFirst` is not tried: its priorities would conflict with them.
        if sharding.dims.iter().any(|d| d.priority.is_some()) {
            return BTreeSet::new();
        }
        axes[usize::from(is_updated(module, func, i))].extend(sharding.split_axes().map(|a| a.axis));
    }
    // If an axis shards both donated and other arguments, the program is a training step with FSDP: the batch is not donated.
    if !axes[0].is_disjoint(&axes[1]) {
        return (0..args.len()).filter(|&i| !is_updated(module, func, i)).collect();
    }
    // If no sharded argument is donated, the batch is found by dimension classes.
    if axes[1].is_empty() && !axes[0].is_empty() {
        batch_by_classes(module, func, args)
    } else {
        BTreeSet::new()
    }
}

/// A dimension class and an axis along which arguments shard it.
#[derive(Default)]
struct Claim {
    /// The indices of the arguments that have a dimension of the class sharded along the axis.
    args: BTreeSet<usize>,
    /// The number of values with a dimension of the class.
    reach: usize,
}

/// Returns the indices of the batch arguments, by the dimension classes that compete for an axis in some value; empty if the
/// classes are inconclusive.
fn batch_by_classes(module: &Module, func: FuncId, args: &[ValueId]) -> BTreeSet<usize> {
    let Some(classes) = DimensionClasses::of_func(module, func) else { return BTreeSet::new() };
    let mut claims: BTreeMap<(u16, u32), Claim> = BTreeMap::new();
    let mut axes_of: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); classes.bound()];
    for (i, &arg) in args.iter().enumerate() {
        let Some(sharding) = module.shardings.sharding_of(arg) else { continue };
        for (dim, &class) in sharding.dims.iter().zip(classes.of(arg)) {
            for axis in &dim.axes {
                axes_of[class as usize].insert(axis.axis);
                claims.entry((axis.axis, class)).or_default().args.insert(i);
            }
        }
    }
    // Two classes compete if a value has a dimension of each and both use the same axis: an axis can shard only one dimension.
    let mut compete: BTreeSet<(u16, u32)> = BTreeSet::new();
    for dims in classes.of_values() {
        for (d, &class) in dims.iter().enumerate() {
            // A value counts only once per class: attention scores have the sequence class twice.
            if dims[..d].contains(&class) {
                continue;
            }
            for &axis in &axes_of[class as usize] {
                if let Some(claim) = claims.get_mut(&(axis, class)) {
                    claim.reach += 1;
                }
                let rivals =
                    dims.iter().filter(|&&other| other != class && axes_of[other as usize].contains(&axis));
                compete.extend(rivals.map(|&other| (axis, other)));
            }
        }
    }
    let mut first: BTreeMap<u16, &Claim> = BTreeMap::new();
    for (key, claim) in claims.iter().filter(|(key, _)| compete.contains(key)) {
        let best = first.entry(key.0).or_insert(claim);
        // Compares the number of values per sharded argument, without division. The feature class is on as many values as the batch
        // class, but many weights are sharded along it.
        if claim.reach * best.args.len() > best.reach * claim.args.len() {
            *best = claim;
        }
    }
    let first: BTreeSet<usize> = first.values().flat_map(|claim| claim.args.iter().copied()).collect();
    // If every sharded argument of a competing class is a batch argument, both strategies are the same.
    let others = claims.values().flat_map(|claim| &claim.args).any(|i| !first.contains(i));
    if others { first } else { BTreeSet::new() }
}

/// Whether argument `i` is donated, which `jax.jit` uses for arguments that a training step updates in place.
pub(crate) fn is_updated(module: &Module, func: FuncId, i: usize) -> bool {
    module.funcs[func].arg_attrs.get(i).is_some_and(|attrs| attrs.donation().is_some())
}

/// Sets the priorities of the annotations of `func` according to a strategy.
pub fn prioritize(module: &mut Module, func: FuncId, strategy: Strategy) {
    Priorities::of(module, func, strategy).apply(module, func);
}

/// The annotations that a strategy changes, with their new priorities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities {
    args: Vec<(ValueId, TensorSharding)>,
    /// The annotations of function results that change, each with the index of its result.
    results: Vec<(usize, TensorSharding)>,
}

impl Priorities {
    pub(crate) fn of(module: &Module, func: FuncId, strategy: Strategy) -> Priorities {
        let mut out = Priorities::default();
        let (Strategy::BatchFirst, Some(body)) = (strategy, module.funcs[func].body) else { return out };
        let first = batch(module, func);
        // A donated argument and its result share memory and need equal shardings, so both propagate in one round.
        let mut results = BTreeSet::new();
        for (i, &arg) in module.regions[body].args.iter().enumerate().filter(|(i, _)| !first.contains(i)) {
            results.extend(module.funcs[func].arg_attrs.get(i).and_then(AttrDict::donated_to));
            out.args.extend(module.shardings.of(arg).map(|id| (arg, later(module, id))));
        }
        for result in results {
            let declared = module.funcs[func].res_shardings.get(result).and_then(|s| s.expand());
            out.results.extend(declared.map(|id| (result, later(module, id))));
        }
        out
    }

    pub(crate) fn apply(self, module: &mut Module, func: FuncId) {
        for (arg, sharding) in self.args {
            let id = module.shardings.intern(sharding);
            module.shardings.set(arg, Some(id));
        }
        for (result, sharding) in self.results {
            let id = module.shardings.intern(sharding);
            module.funcs[func].res_shardings[result] = id.into();
        }
    }
}

/// Returns the sharding with priority 1, which propagates in the second round. Dimensions without axes keep their priority.
fn later(module: &Module, id: ShardingId) -> TensorSharding {
    let mut sharding = module.shardings.get(id).clone();
    for dim in sharding.dims.iter_mut().filter(|d| !d.axes.is_empty()) {
        dim.priority = Some(1);
    }
    sharding
}

/// Returns the cost of a partitioned program, to compare it with another partition of the same program: the bytes that a
/// device sends, a constant per collective, and one pass over all temporaries. Collectives that were combined by the
/// clean-up pass are counted one by one, so that fewer launches never justify more bytes.
#[must_use]
pub fn cost(module: &Module, func: FuncId, cleaned: &CleanReport, model: &CostModel) -> u64 {
    let costs = model.of_links();
    let start = costs.start() as u64;
    let of = |kind: &CollectiveSummary| kind.bytes_in_run.saturating_add(kind.runs.saturating_mul(start));
    let combined = start.saturating_mul(cleaned.fewer() as u64);
    let memory = costs.local_copy(temporaries(module, func) as f64) as u64;
    summarize(module).iter().map(of).fold(combined.saturating_add(memory), u64::saturating_add)
}

/// Returns the bytes that a device sends in one execution of a partitioned program.
#[must_use]
pub fn bytes_sent(module: &Module) -> u64 {
    summarize(module).iter().map(|kind| kind.bytes_in_run).fold(0, u64::saturating_add)
}
