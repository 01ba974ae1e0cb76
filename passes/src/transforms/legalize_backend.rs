//! Legalizing for back ends: a module in which nothing is left that only a partitioner understands.
//!
//! [`legalize`] takes a module whose every value is what one device holds (a partitioned program, or one that was never
//! partitioned) and makes it the module that is handed to a PJRT plugin, as text or as bytecode:
//!
//! * Annotations that are the identity on one device (`sdy.sharding_constraint`, `sdy.reshard`,
//!   `sdy.propagation_barrier`, data-flow edges, `@Sharding`) are replaced by their operands; sharding groups go.
//! * Meshes, shardings, and attributes that hold them are dropped. Plugins need not know the `sdy` dialect.
//! * Discardable attributes of dialects that plugins do not register are dropped (`foreign_attributes.rs`).
//! * Element-wise operations that plugins may lack are expanded (`expand_elementwise.rs`).
//! * Comparisons of integers say whether these have a sign.
//! * A `reduce` starts from a neutral initial value; another one is combined with its result (`initial_values.rs`).
//! * The module says how many replicas or partitions run it, and its entry function is called `main`.
//! * For XLA's CPU and TPU compilers, which have no `collective_broadcast`, it is a sum (`rooted_collectives.rs`).
//! * Among several partitions ([`SpmdMode::Partition`]) operations and the entry's signature are marked `{manual}`, which XLA asks
//!   for; of one alone nothing is, since its partitioner, which would take the marks away, does not run then.
//! * For XLA's CPU client values stay in its one memory, products in groups are plain ones, those that are wider than their operands
//!   have them widened, the results of Fourier transforms are pinned to row-major order, and collectives in loops and branches take
//!   turns with those around them ([`Backend::Cpu`]).
//! * But for the CPU and for GPUs sums of complex numbers are scattered as those of their parts ([`Backend::Any`]).
//! * For XLA's TPU compiler gradients lie as the parameters that they update do, and what goes to the host's memory is no part of something
//!   larger ([`Backend::Tpu`]).
//! * For XLA's CPU client, and for all back ends in [`SpmdMode::Replica`], `ragged_all_to_all` is an `all_gather` and a `gather`
//!   (`dense_exchange.rs`).
//! * For XLA's compiler for GPUs a value that is returned several times takes the memory of one argument ([`Backend::Gpu`]).
//! * Where several processes share the devices ([`BackendOptions::processes`]), collectives between them are calls of the runtime.

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

/// Regions within regions, so that neither this nor the recursion of MLIR's readers overflows the stack.
const MAX_DEPTH: usize = 128;

/// Which of XLA's compilers takes a program, where it makes a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// One that takes what StableHLO says, but for sums of complex numbers that are scattered.
    #[default]
    Any,
    /// That for TPUs. It lets the update of a parameter take over the order of dimensions of a gradient that is added to rows or
    /// exchanged, and copies parameter and state into that and back; and it takes all of a value to the host's memory of which a part
    /// goes there.
    Tpu,
    /// That of the CPU client. It has one memory, and knows no call that moves values to another. It has no `ragged_dot`, and no
    /// product of `bf16` that gives `f32`. It lets a Fourier transform take over the order of dimensions that an `all_gather` after
    /// it wants, and then refuses at run time to do it in that order; and it mixes up collectives in loops with others.
    Cpu,
    /// That for GPUs. Some versions give several arguments one buffer where a value is returned in the memory of each.
    Gpu,
}

/// What a back end is told about the devices that run a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendOptions {
    /// What a device is to the back end.
    pub spmd_mode: SpmdMode,
    /// Number of devices that run the program, written as `mhlo.num_replicas` or `mhlo.num_partitions`; its entry
    /// function is then called `main`, as back ends ask. `None` takes the size of the module's largest mesh; where it has
    /// none, the numbers stay that it says itself, one if it says nothing.
    pub num_devices: Option<usize>,
    /// Who compiles the program.
    pub backend: Backend,
    /// How many processes run the program, where XLA's CPU client does, which knows the devices of one; none is one. What
    /// crosses them becomes calls of the runtime, and `num_devices`, which then has to be said, is that of all.
    pub processes: usize,
}

/// Makes the module what a back end takes.
///
/// # Errors
/// The module holds operations on global values (`SH0501`: it has to be partitioned first), regions nested too deep
/// (`SH0507`), or a part that is kept as text (`SH0508`); what cannot be done in several processes (`SH0511`, `SH0512`).
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
    // Groups that are written as axes are known as lists too, and their meshes go.
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
        let message = format!("regions are nested more than {MAX_DEPTH} deep");
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

/// Says of a comparison of integers with a sign that they have one: the specification takes that from the element type where it
/// is not written, and XLA, where both sides are constants, compares them as if they had none.
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

/// Marks values as what one device holds.
fn mark_manual(module: &mut Module) {
    let manual = || Attr::Str("{manual}".into());
    for op in module.ops.values_mut() {
        // One mark goes for all results of an operation, since XLA may change their number.
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
/// A terminator has no counterpart in XLA that could carry a mark. A loop or branch is left to XLA, which wants the shardings
/// inside and outside to agree, but takes values out of their tuples and puts others in. XLA refuses the attribute on
/// `@ApproxTopK`, which it expands into other operations.
pub(crate) fn takes_mark(kind: &OpKind) -> bool {
    match kind {
        OpKind::Return | OpKind::While | OpKind::Case | OpKind::If => false,
        OpKind::CustomCall(call) => &*call.target != "ApproxTopK",
        _ => true,
    }
}

/// Gives the function that runs the name that back ends ask for.
fn rename_entry(module: &mut Module) {
    let Some(entry) = module.entry() else { return };
    let old = std::mem::replace(&mut module.funcs[entry].name, "main".into());
    // The position is kept: it is the order of printing.
    if let Some(at) = module.func_names.get_index_of(&old) {
        let _ = module.func_names.replace_index(at, "main".into());
    }
}

/// Says how many replicas and partitions run the program.
fn set_device_counts(module: &mut Module, options: &BackendOptions) {
    // A partitioned program, whose meshes are gone, says itself how many run it.
    let is_said = module.num_partitions().is_some() && module.num_replicas().is_some();
    if options.num_devices.is_none() && module.mesh_names.is_empty() && is_said {
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

/// How many devices run the program.
fn num_devices(module: &Module, options: &BackendOptions) -> usize {
    let of_meshes = || module.meshes.values().map(|mesh| mesh.num_devices()).max();
    options.num_devices.or_else(of_meshes).unwrap_or(1)
}

/// Drops attributes that speak of global values, and the reader's notes for the printer.
fn strip(attrs: &mut AttrDict) {
    let is_dropped =
        |name: &str| matches!(name, GSPMD_SHARDING | SHARDING | SHARDING_RULE) || name.starts_with("shardc.");
    attrs.retain(|name| !is_dropped(name));
}

/// Gives a diagnostic that has no place yet that of `op`.
fn located(module: &Module, op: OpId, diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.user_loc.is_some() || diagnostic.span.is_some() {
        return diagnostic;
    }
    Diagnostic { user_loc: module.user_loc(op), ..diagnostic.at(module.ops[op].span) }
}

/// What legalizing makes of an operation.
enum Fate {
    /// Nothing is left of it.
    Erase,
    /// Its results are its operands.
    Forward,
    /// It is what a device does.
    Keep,
}

/// Calls with which GSPMD goes from global values to those of one device and back.
const CROSSINGS: [&str; 2] = ["SPMDFullToShardShape", "SPMDShardToFullShape"];

fn fate(module: &Module, id: OpId) -> Result<Fate, Diagnostic> {
    use OpKind as K;
    let op = &module.ops[id];
    let global = |what: String| {
        Diagnostic::invalid("SH0501", format!("{what} is about global values and cannot be lowered"))
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
                return Err(Diagnostic::unsupported("SH0501", format!("`{name}` cannot be lowered")));
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
    fn the_entry_of_a_program_that_runs_is_called_main() {
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
