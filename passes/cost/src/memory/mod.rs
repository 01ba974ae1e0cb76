//! Estimates the memory that a program needs on each device, as XLA's compilers report it.
//!
//! Arguments and results occupy memory during the whole execution; results that are aliased to donated arguments have no memory of their
//! own. Temporaries share a heap, whose size is the peak of live bytes plus fragmentation ([`Machine`]).
//!
//! The model runs five stages on each region, nested regions first ([`Stage`]):
//!
//! 1. *materialize* (`fusion`, `products`, `properties`): an operation that is fused into its users takes no memory, but its operands stay
//!    live until the users run;
//! 2. *schedule* (`schedule`): operations run in program order, except for those that a compiler runs early because they free memory;
//! 3. *layout* (`program`, `machine`, `stacks`, `copies`): the bytes of each value, tiles and padding included, and the
//!    copies to another layout or type;
//! 4. *buffers* (`buffers`): live ranges, and values that share a buffer;
//! 5. *allocate* (`allocate`, `tables`): the live bytes of the busiest step, and the size of the heap.
//!
//! Behaviour of compilers is a list of [`RULES`], each of which can be disabled ([`RuleSet`]). [`stage_text`] prints the result of a stage.
//! The estimate is an interval around an expected value (`interval`).
//!
//! A call of a separately partitioned function also needs the memory of that function's temporaries.
//!
//! [`at_peak`] lists the live values at the peak, by the source lines that produced them, and [`over_time`] all buffers.
//!
//! docs/QUALITY.md compares the estimate with the TPU compiler.

mod allocate;
mod buffers;
mod copies;
mod fusion;
mod in_memory;
mod interval;
mod kernels;
mod kinds;
mod machine;
mod over_time;
mod print;
mod products;
mod program;
mod properties;
mod rules;
mod schedule;
mod stacks;
mod stages;
mod tables;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::report::byte_size::bytes_text;
use shardc_ir::discardable::BUFFER_DONOR;
use shardc_ir::{AttrDict, Class, Diagnostic, FuncId, Module, OpId, TypeId};

pub use self::in_memory::{InMemory, at_peak};
pub use self::interval::Width;
use self::interval::interval;
pub use self::kernels::Fusion;
pub use self::machine::Machine;
pub use self::over_time::{BuffersOverTime, LiveBuffer, over_time};
pub use self::print::stage_text;
pub use self::rules::{Model, RULES, Rule, RuleInfo, RuleSet, Stage};
use self::stages::{Estimate, Moment, Peak};

/// The memory that a program needs on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The estimate, by kind of memory.
    pub estimate: MemoryEstimate,
    /// The program point of the peak.
    pub at: Moment,
}

/// The estimated memory of a program on one device, in bytes, as XLA's compilers report it. All fields except [`MemoryEstimate::host`]
/// are device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// The arguments.
    pub arguments: u64,
    /// The results, including those that are aliased to arguments.
    pub outputs: u64,
    /// The results that are aliased to arguments.
    pub aliases: u64,
    /// The heap of temporaries.
    pub temporaries: u64,
    /// The lower end of the interval for the total.
    pub low: u64,
    /// The expected total: arguments, results that are not aliased, and the heap.
    pub peak: u64,
    /// The upper end of the interval for the total, with which a program is compared to the memory of a device.
    pub high: u64,
    /// The causes of the width of the interval.
    pub width: Width,
    /// The host memory of one device's arguments and results (`mhlo.memory_kind = "pinned_host"`).
    pub host: u64,
}

/// Returns the memory that a function with local types needs on a machine.
pub fn need(module: &Module, func: FuncId, model: impl Into<Model>) -> Need {
    need_with_calls(module, func, model.into(), &|_| 0)
}

/// Returns the memory that a function needs on a machine, including that of separately partitioned functions that it calls. `of_call`
/// returns the bytes of temporaries of the function that an operation calls, or 0.
fn need_with_calls(module: &Module, func: FuncId, model: Model, of_call: &dyn Fn(OpId) -> u64) -> Need {
    need_and_peak(module, func, model, of_call).0
}

/// Returns the memory that a function needs, and the peak of its temporaries.
fn need_and_peak(module: &Module, func: FuncId, model: Model, of_call: &dyn Fn(OpId) -> u64) -> (Need, Peak) {
    let Some(body) = module.funcs[func].body else { return <(Need, Peak)>::default() };
    let Model { machine, rules, .. } = model;
    let mut stages = Estimate::new(module, func, body, model, of_call);
    let peak = stages.peak(body);
    let size = |ty: TypeId| module.types.stored(ty).map_or(0, |ty| machine.bytes_of_argument(ty));
    let data = &module.funcs[func];
    let in_device_memory = |attrs: &[AttrDict], i: usize| attrs.get(i).is_none_or(|attrs| !is_on_host(attrs));
    // `sizes` returns the bytes in device memory, and the bytes in host memory, where layouts are not tiled.
    let sizes = |types: &[TypeId], attrs: &[AttrDict], is_counted: &dyn Fn(usize) -> bool| {
        let (mut device, mut host) = (0u64, 0u64);
        for (i, &ty) in types.iter().enumerate().filter(|&(i, _)| is_counted(i)) {
            if in_device_memory(attrs, i) {
                device = device.saturating_add(size(ty));
            } else {
                host = host.saturating_add(
                    module.types.stored(ty).map_or(0, |ty| Machine::dense().bytes_of_argument(ty)),
                );
            }
        }
        (device, host)
    };
    let (arguments, host_arguments) = sizes(&data.params, &data.arg_attrs, &|_| true);
    let (outputs, host_outputs) = sizes(&data.results, &data.res_attrs, &|_| true);
    let aliased = aliased(module, func);
    let (aliases, host_aliases) = sizes(&data.results, &data.res_attrs, &|i| aliased.contains(&i));
    let host = host_arguments.saturating_add(host_outputs.saturating_sub(host_aliases));
    let mut heap = interval(&mut stages, body, model, &peak);
    if rules.contains(Rule::FastMemory) && machine.has_fast_memory_for(peak.bytes) {
        let on_device = aliased.iter().filter(|&&i| in_device_memory(&data.res_attrs, i)).count();
        heap = tables::interval(tables::bytes(module, func, body, on_device), &heap, machine);
    }
    let rest = arguments.saturating_add(outputs.saturating_sub(aliases));
    let estimate = MemoryEstimate {
        arguments,
        outputs,
        aliases,
        temporaries: heap.expected,
        low: rest.saturating_add(heap.low),
        peak: rest.saturating_add(heap.expected),
        high: rest.saturating_add(heap.high),
        width: heap.width,
        host,
    };
    (Need { estimate, at: peak.at.clone() }, peak)
}

/// Whether an argument or a result with these attributes is in host memory.
fn is_on_host(attrs: &AttrDict) -> bool {
    attrs.memory_kind().is_some_and(|kind| kind.ends_with("_host"))
}

/// Returns the indices of the results of a function that are aliased to arguments. These are the results that argument attributes specify, and for each
/// other donated argument one remaining result of the same type and memory kind.
#[must_use]
pub fn aliased(module: &Module, func: FuncId) -> FxHashSet<usize> {
    let data = &module.funcs[func];
    let named = data.arg_attrs.iter().filter_map(AttrDict::donated_to);
    let mut aliased: FxHashSet<usize> = named.filter(|&result| result < data.results.len()).collect();
    let mut left: FxHashMap<(TypeId, bool), Vec<usize>> = FxHashMap::default();
    for (i, &ty) in data.results.iter().enumerate().rev().filter(|(i, _)| !aliased.contains(i)) {
        left.entry((ty, data.res_attrs.get(i).is_some_and(is_on_host))).or_default().push(i);
    }
    for (attrs, &ty) in data.arg_attrs.iter().zip(&data.params) {
        if attrs.get(BUFFER_DONOR).is_some()
            && let Some(result) = left.get_mut(&(ty, is_on_host(attrs))).and_then(Vec::pop)
        {
            aliased.insert(result);
        }
    }
    aliased
}

/// Estimates the memory that a function with local types needs on a machine.
#[must_use]
pub fn estimate(module: &Module, func: FuncId, model: impl Into<Model>) -> MemoryEstimate {
    need(module, func, model).estimate
}

/// Returns by how many bytes a function exceeds `limit` on each device; 0 if it fits, or if `limit` is 0 (the memory size is unknown).
#[must_use]
pub fn lacking(module: &Module, func: FuncId, machine: Machine, limit: u64) -> u64 {
    if limit == 0 { 0 } else { estimate(module, func, machine).high.saturating_sub(limit) }
}

/// Returns a warning (SH0470) if each device needs more than `limit` bytes. Its location is the operation at the peak.
pub fn too_much(module: &Module, func: FuncId, machine: Machine, limit: u64) -> Option<Diagnostic> {
    too_much_with_calls(module, func, machine, limit, &|_| 0)
}

/// Returns the same warning as [`too_much`], and counts the memory of separately partitioned functions that the function calls. `of_call`
/// returns the bytes of temporaries of the function that an operation calls, or 0.
pub fn too_much_with_calls(
    module: &Module,
    func: FuncId,
    machine: Machine,
    limit: u64,
    of_call: &dyn Fn(OpId) -> u64,
) -> Option<Diagnostic> {
    let Need { estimate, at } = need_with_calls(module, func, machine.into(), of_call);
    if limit == 0 || estimate.high <= limit {
        return None;
    }
    let message = format!(
        "each device needs up to about {} of memory but has {}: {} for arguments, and {} for results and temporaries at this operation",
        bytes_text(estimate.high),
        bytes_text(limit),
        bytes_text(estimate.arguments),
        bytes_text(estimate.high.saturating_sub(estimate.arguments)),
    );
    let mut warning = Diagnostic::warning(Class::InvalidInput, "SH0470", message)
        .hint("shard more of the program, use a larger mesh, or rematerialize more in the backward pass (`jax.checkpoint`); \
               `shardc partition --at-peak` lists the values in memory at the peak");
    if let Some(&(region, number)) = at.last() {
        let op = module.regions[region].ops[number];
        warning = warning.at(module.ops[op].span);
        warning.user_loc = module.user_loc(op);
    }
    Some(warning)
}

/// Returns the peak of live temporary bytes of a function, without padding. Arguments and results are not counted.
pub fn temporaries(module: &Module, func: FuncId) -> u64 {
    temporaries_with_calls(module, func, Machine::dense(), &|_| 0)
}

/// Returns the peak of live bytes of temporaries of a function on a machine. `of_call` returns the bytes of temporaries of the function
/// that an operation calls, or 0.
pub fn temporaries_with_calls(
    module: &Module,
    func: FuncId,
    machine: Machine,
    of_call: &dyn Fn(OpId) -> u64,
) -> u64 {
    let Some(body) = module.funcs[func].body else { return 0 };
    Estimate::new(module, func, body, machine.into(), of_call).peak(body).bytes
}
