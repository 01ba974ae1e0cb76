//! Back-end legalization: removes annotations that only a partitioner supports, and works around limits of PJRT plugins.
//!
//! [`legalize`] takes a module whose values are local to one device: a partitioned program, or one that was never partitioned. The
//! result is passed to a PJRT plugin as text or bytecode.
//!
//! For all back ends:
//! * Annotations that are the identity on one device (`sdy.sharding_constraint`, `sdy.reshard`, `sdy.propagation_barrier`, data-flow
//!   edges, `@Sharding`) are replaced by their operands. Sharding groups are removed.
//! * Meshes, shardings, and attributes that contain them are removed, since plugins may not support the `sdy` dialect.
//! * Discardable attributes of dialects that plugins do not register are dropped (`foreign_attributes.rs`).
//! * Element-wise operations that plugins may lack are expanded (`expand_elementwise.rs`).
//! * Integer comparisons get an explicit signedness.
//! * The initial value of a `reduce` becomes the identity; any other initial value is combined with the result (`initial_values.rs`).
//! * The module gets its number of replicas or partitions, and its entry function is called `main`.
//! * With several partitions ([`SpmdMode::Partition`]), operations and the entry signature get `mhlo.sharding = "{manual}"`, which XLA
//!   requires. With one partition, nothing is marked, since XLA's partitioner, which removes the marks, does not run.
//! * If several processes share the devices ([`BackendOptions::processes`]), collectives between them become calls of the runtime
//!   (`across_processes.rs`).
//!
//! For some back ends ([`Backend`]):
//! * CPU with one process, and TPU: `collective_broadcast` becomes an `all_reduce` (`rooted_collectives.rs`).
//! * CPU: memory-placement calls are removed, `ragged_dot` becomes `dot_general`, operands of a widening `dot_general` are converted to
//!   the result type, FFT results are pinned to row-major layout, and collectives in loops and branches are ordered with those outside.
//! * All but CPU and GPU: a complex `reduce_scatter` is split into real and imaginary parts (`complex_sums.rs`).
//! * TPU: gradients get the layout of the parameters that they update, and slices that are transferred to host memory are isolated by a
//!   barrier.
//! * CPU, and all back ends in [`SpmdMode::Replica`]: `ragged_all_to_all` becomes an `all_gather` and a `gather` (`dense_exchange.rs`).
//! * GPU: a value that is returned several times is donated only once (`donated_once.rs`).

use shardc_ir::discardable::{GSPMD_SHARDING, SHARDING, SHARDING_RULE};
use shardc_ir::{
    Attr, AttrDict, CompareType, Diagnostic, FuncId, Lowering, Module, Op, OpId, OpKind, RegionId, Rewriter,
    SpmdMode, ValueId,
};

use super::{
    across_processes, complex_sums, dense_exchange, dense_ragged, donated_once, expand_elementwise,
    foreign_attributes, gradient_layouts, initial_values, one_memory, order_collectives, rooted_collectives,
    row_major_fft, whole_to_host, wide_products,
};

/// The maximum nesting depth of regions. It prevents stack overflows in this pass and in the recursive readers of MLIR.
const MAX_DEPTH: usize = 128;

/// The XLA compiler for which a program is legalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Any compiler of StableHLO, except that it may lack complex `reduce_scatter`.
    #[default]
    Any,
    /// XLA's TPU compiler. It computes parameter updates in the layout of a gradient that was scattered or exchanged, and copies parameter
    /// and state to that layout and back. If a slice of a value is transferred to host memory, the compiler transfers the entire value.
    Tpu,
    /// XLA's CPU client. It has one memory space and no memory-placement call, no `ragged_dot`, and no `dot_general` of `bf16` with an
    /// `f32` result. It may assign an FFT the layout that a following `all_gather` prefers, and then fails at run time. It executes
    /// collectives in loops concurrently with collectives outside of the loop.
    Cpu,
    /// XLA's GPU compiler. In some versions, several donated arguments share a buffer if the same value is returned in each of them.
    Gpu,
}

/// Options about the devices that run a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendOptions {
    /// Whether a device is a replica or a partition.
    pub spmd_mode: SpmdMode,
    /// The number of devices, written as `mhlo.num_replicas` or `mhlo.num_partitions`; the entry function is then called `main`, as back
    /// ends require. `None` means the size of the module's largest mesh. Without a mesh, the module's own counts stay, or are set to 1 if
    /// it has none.
    pub num_devices: Option<usize>,
    /// The compiler for which the program is legalized.
    pub backend: Backend,
    /// The number of processes that run the program, each with its own XLA CPU client; 0 means 1. Collectives that cross processes become
    /// calls of the runtime. `num_devices` is then required and counts the devices of all processes.
    pub processes: usize,
}

/// Legalizes the module for a back end.
///
/// # Errors
/// Returns an error if the module contains operations on global values (`SH0501`: partition it first), too deeply nested regions
/// (`SH0507`), an operation that is kept as text (`SH0508`), or an operation that several processes cannot execute (`SH0511`, `SH0512`).
pub fn legalize(module: &mut Module, options: &BackendOptions) -> Result<(), Diagnostic> {
    if let Some(kept) = module.kept.first() {
        return Err(kept.unsupported("SH0508"));
    }
    expand_elementwise::expand_for_plugin(module);
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        legalize_region(&mut rw, body, 0)?;
    }
    drop(rw);
    for func in module.funcs.keys().collect::<Vec<_>>() {
        legalize_signature(module, func);
    }
    initial_values::combine_afterwards(module);
    let is_one_process = options.processes <= 1;
    if matches!(options.backend, Backend::Cpu | Backend::Tpu) && is_one_process {
        let devices = num_devices(module, options);
        rooted_collectives::expand_broadcasts(module, i64::try_from(devices).unwrap_or(i64::MAX));
    }
    if options.backend == Backend::Cpu || options.spmd_mode == SpmdMode::Replica {
        dense_exchange::write_dense_exchanges(module);
    }
    if matches!(options.backend, Backend::Any | Backend::Tpu) {
        complex_sums::take_apart(module);
    }
    if options.backend == Backend::Tpu {
        gradient_layouts::pin_gradients(module);
        whole_to_host::hold(module);
    }
    if options.backend == Backend::Gpu {
        donated_once::keep(module);
    }
    if options.backend == Backend::Cpu {
        one_memory::stay(module);
        dense_ragged::write_dense(module);
        wide_products::widen(module);
        row_major_fft::pin_transforms(module);
        if !is_one_process {
            let devices = options.num_devices.unwrap_or(1);
            across_processes::split(module, devices, options.processes, options.spmd_mode)?;
        }
        order_collectives::order(module);
    }
    foreign_attributes::drop_all(module);
    strip(&mut module.attrs);
    set_device_counts(module, options);
    if options.spmd_mode == SpmdMode::Partition && module.num_partitions() > Some(1) {
        mark_manual(module);
    }
    if options.num_devices.is_some() {
        rename_entry(module);
    }
    // The axes form of replica groups refers to meshes, which are removed below. It is dropped, since the groups are also stored as lists.
    for op in module.ops.values_mut() {
        if let Some(spec) = op.kind.collective_mut().filter(|spec| !spec.groups.is_empty()) {
            spec.mesh_axes = None;
        }
    }
    module.mesh_names.clear();
    module.shardings.clear_values();
    Ok(())
}

fn legalize_region(rw: &mut Rewriter<'_>, region: RegionId, depth: usize) -> Result<(), Diagnostic> {
    if depth > MAX_DEPTH {
        let message = format!("regions are nested more than {MAX_DEPTH} levels deep");
        return Err(Diagnostic::unsupported("SH0507", message));
    }
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        match fate(rw.module, op).map_err(|d| located(rw.module, op, d))? {
            Fate::Erase => rw.erase(),
            Fate::Forward => rw.replace(&rw.module.ops[op].operands.clone()),
            Fate::Keep => {
                legalize_comparison(rw.module, op);
                legalize_attributes(&mut rw.module.ops[op]);
                for inner in rw.module.ops[op].regions.clone() {
                    legalize_region(rw, inner, depth + 1)?;
                }
            }
        }
    }
    Ok(())
}

/// Adds the signedness to a comparison of signed integers. In StableHLO, a missing signedness is that of the element type, but XLA
/// compares two constants as unsigned.
fn legalize_comparison(module: &mut Module, op: OpId) {
    let Some(dtype) = module.ops[op].operands.first().and_then(|&v| module.stored(v)).map(|ty| ty.dtype)
    else {
        return;
    };
    if let OpKind::Compare(_, how @ None) = &mut module.ops[op].kind {
        *how = CompareType::of_integers(dtype);
    }
}

fn legalize_attributes(op: &mut Op) {
    strip(&mut op.attrs);
    match &mut op.kind {
        OpKind::CustomCall(call) => strip(&mut call.props),
        OpKind::Opaque(spec) => strip(&mut spec.props),
        _ => {}
    }
}

fn legalize_signature(module: &mut Module, func: FuncId) {
    let func = &mut module.funcs[func];
    func.arg_attrs.iter_mut().chain(&mut func.res_attrs).for_each(strip);
    func.res_shardings.fill(None.into());
}

/// Marks values as local to one device.
fn mark_manual(module: &mut Module) {
    let manual = || Attr::Str("{manual}".into());
    for op in module.ops.values_mut() {
        // One mark covers all results of an operation, since XLA may change their number.
        if takes_mark(&op.kind) {
            op.attrs.set(GSPMD_SHARDING, manual());
        }
    }
    for func in module.funcs.values_mut() {
        for (dicts, count) in
            [(&mut func.arg_attrs, func.params.len()), (&mut func.res_attrs, func.results.len())]
        {
            dicts.resize_with(count, AttrDict::new);
            for dict in dicts {
                dict.set(GSPMD_SHARDING, manual());
            }
        }
    }
}

/// Whether an operation of a partitioned program may carry `mhlo.sharding = "{manual}"`.
///
/// XLA has no instruction for a terminator, so a terminator cannot carry a mark. Loops and branches are not marked: XLA requires equal
/// shardings inside and outside, but adds and removes tuple elements. XLA rejects the attribute on `@ApproxTopK`, which it expands.
pub fn takes_mark(kind: &OpKind) -> bool {
    match kind {
        OpKind::Return | OpKind::While | OpKind::Case | OpKind::If => false,
        OpKind::CustomCall(call) => &*call.target != "ApproxTopK",
        _ => true,
    }
}

/// Renames the entry function to the name that back ends require.
fn rename_entry(module: &mut Module) {
    let Some(entry) = module.entry() else { return };
    let old = std::mem::replace(&mut module.funcs[entry].name, "main".into());
    // The function keeps its position in the table of names, which determines the printing order.
    if let Some(at) = module.func_names.get_index_of(&old) {
        let _ = module.func_names.replace_index(at, "main".into());
    }
}

/// Sets the number of replicas and partitions.
fn set_device_counts(module: &mut Module, options: &BackendOptions) {
    // A partitioned program, which has no meshes, already specifies both counts, and keeps them.
    let has_counts = module.num_partitions().is_some() && module.num_replicas().is_some();
    if options.num_devices.is_none() && module.mesh_names.is_empty() && has_counts {
        return;
    }
    let devices = num_devices(module, options);
    let devices = if options.backend == Backend::Cpu { devices / options.processes.max(1) } else { devices };
    let (replicas, partitions) = match options.spmd_mode {
        SpmdMode::Replica => (devices, 1),
        SpmdMode::Partition => (1, devices),
    };
    module.set_process_counts(replicas as i64, partitions as i64);
}

/// Returns the number of devices that run the program.
fn num_devices(module: &Module, options: &BackendOptions) -> usize {
    let of_meshes = || module.meshes.values().map(|mesh| mesh.num_devices()).max();
    options.num_devices.or_else(of_meshes).unwrap_or(1)
}

/// Drops attributes about global values, and attributes (`shardc.*`) in which the parser stores information for the printer.
fn strip(attrs: &mut AttrDict) {
    let is_dropped =
        |name: &str| matches!(name, GSPMD_SHARDING | SHARDING | SHARDING_RULE) || name.starts_with("shardc.");
    attrs.retain(|name| !is_dropped(name));
}

/// If a diagnostic has no location, sets it to that of `op`.
fn located(module: &Module, op: OpId, diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.user_loc.is_some() || diagnostic.span.is_some() {
        return diagnostic;
    }
    Diagnostic { user_loc: module.user_loc(op), ..diagnostic.at(module.ops[op].span) }
}

/// Whether the pass removes, replaces or keeps an operation.
enum Fate {
    /// The operation is removed.
    Erase,
    /// The operation is removed, and its results are replaced by its operands.
    Forward,
    /// The operation is kept.
    Keep,
}

/// GSPMD's custom calls that convert between global and per-device values.
const CROSSINGS: [&str; 2] = ["SPMDFullToShardShape", "SPMDShardToFullShape"];

fn fate(module: &Module, id: OpId) -> Result<Fate, Diagnostic> {
    use OpKind as K;
    let op = &module.ops[id];
    let global = |what: String| {
        Diagnostic::invalid("SH0501", format!("{what} applies to global values and cannot be lowered"))
            .hint("partition the program first")
    };
    Ok(match &op.kind {
        K::CustomCall(call) if CROSSINGS.contains(&&*call.target) => {
            return Err(global(format!("`@{}`", call.target)));
        }
        K::CustomCall(call) if &*call.target == "Sharding" && is_identity(module, id) => Fate::Forward,
        K::Opaque(spec) => {
            let name = &*spec.name;
            let dialect = name.split_once('.').map_or("", |(dialect, _)| dialect);
            if matches!(dialect, "" | "builtin" | "func") {
                return Err(Diagnostic::unsupported(
                    "SH0501",
                    format!("`{name}` is not supported by back ends"),
                ));
            }
            Fate::Keep
        }
        kind => match kind.def().lowering {
            Lowering::Stays => Fate::Keep,
            Lowering::Operand => Fate::Forward,
            Lowering::Nothing => Fate::Erase,
            Lowering::Refused => return Err(global(format!("`{}`", kind.name()))),
        },
    })
}

/// Whether an operation has one operand and one result of the same type.
fn is_identity(module: &Module, id: OpId) -> bool {
    let op = &module.ops[id];
    let ty = |v: ValueId| module.values[v].ty;
    matches!((&op.operands[..], &op.results[..]), (&[a], &[b]) if ty(a) == ty(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_a_runnable_program_is_named_main() {
        let text = "func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }";
        let read = shardc_stablehlo::parse(text).unwrap();
        for (num_devices, name, count) in [(None, "step", 1), (Some(8), "main", 8)] {
            let mut module = read.clone();
            legalize(&mut module, &BackendOptions { num_devices, ..BackendOptions::default() }).unwrap();
            assert_eq!(shardc_ir::verify(&module), Ok(()));
            assert_eq!(&*module.funcs[module.entry().unwrap()].name, name);
            assert_eq!(module.attrs.get("mhlo.num_replicas"), Some(&Attr::Int(count, "i32".into())));
        }
    }
}
