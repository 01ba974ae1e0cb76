//! Random strategy settings on random meshes: training steps sharded by them produce the results of one device, and the TPU compiler
//! accepts them.
//!
//! `cargo test -p shardc-tests --test settings` runs a few cases, `cargo xtask sweep --of settings --cases 2000 --seed 7` many more, and
//! `--of settings-for-tpus` compiles them for TPUs. Each case depends only on the seed and its number: `SHARDC_SEED=7 SHARDC_FIRST=1234
//! SHARDC_CASES=1`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "drawn/mod.rs"]
mod drawn;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::array::{uniform3, uniform4, uniform7};
use proptest::option::of;
use proptest::prelude::{Just, Strategy as Draw, any};
use proptest::sample::select;
use shardc::{Backend, CleanOptions, Compiler, Error, Output, exec};
use shardc_ir::{Class, DType, Module};
use shardc_passes::annotations::spec::MeshSpec;
use shardc_runtime::aot::{CHILD_COMMAND, CompileRequest, Target, compile_in_child, run_child};
use shardc_runtime::{Client, Environment, PluginKind, plugin};
use shardc_strategy::{Prefetch, Roles, Settings, Sharding, Wrap, apply};
use shardc_tests::devices::{Reference, Verdict, compare};
use shardc_tests::skip::{Need, skipped};
use shardc_tests::training::{Program, jax_steps, shared_and_own, with_both_signs};

use drawn::{Failure, Outcome, caught, fails, mode, sweep};

/// Numbers of cases that a plain test run tries, and that it compiles for TPUs.
const CASES: u64 = 8;
const COMPILED: u64 = 6;

/// A target of eight TPUs, which need not be present.
const TPUS: &str = "tpu:v5e:2x4";

/// Names of the axes of each mesh, major to minor. A name determines which dimensions the axis shards.
const AXES: &[&[&str]] = &[
    &["fsdp"],
    &["node", "fsdp"],
    &["data", "model"],
    &["model"],
    &["data", "expert"],
    &["node", "fsdp", "model"],
    &["model", "data"],
    &["expert", "data", "model"],
    &["data", "context"],
    &["context", "model"],
    &["node", "data", "context", "model"],
];

/// The sharding of a step.
#[derive(Clone, Debug)]
struct Case {
    /// The index of the step.
    step: usize,
    settings: Settings,
    axes: Vec<(&'static str, usize)>,
    /// The device order of the mesh, if it is not the default.
    order: Option<Vec<usize>>,
}

impl Case {
    /// A hybrid strategy becomes `FullShard` if the mesh has no node axis.
    fn new(
        step: usize,
        mut settings: Settings,
        axes: Vec<(&'static str, usize)>,
        order: Option<Vec<usize>>,
    ) -> Case {
        let has_nodes = axes.iter().filter(|(name, _)| !matches!(*name, "model" | "context")).count() > 1;
        if !has_nodes && matches!(settings.sharding, Sharding::HybridShard | Sharding::HybridShardZero2) {
            settings.sharding = Sharding::FullShard;
        }
        Case { step, settings, axes, order }
    }

    /// The mesh in the command line's syntax, with axes that the step can be sharded on.
    fn mesh(&self, program: &Program) -> String {
        let has_sequences = has_sequences(program);
        let name = |name: &'static str| if name == "context" && !has_sequences { "more" } else { name };
        let axes: Vec<String> = self.axes.iter().map(|(axis, n)| format!("{}={n}", name(axis))).collect();
        let mesh = axes.join(",");
        match &self.order {
            Some(order) if !program.has_mesh() => {
                let ids: Vec<String> = order.iter().map(ToString::to_string).collect();
                format!("{mesh}@{}", ids.join(","))
            }
            _ => mesh,
        }
    }

    fn show(&self, program: &Program) -> String {
        format!("{} on {}, {:#?}", program.name, self.mesh(program), self.settings)
    }
}

/// A mesh of one device.
const ONE: &str = "fsdp=1";

/// Whether a step can be sharded along sequences.
fn has_sequences(program: &Program) -> bool {
    let mesh = "context=2";
    let (mut module, roles) = program.on(mesh);
    apply(&mut module, &roles, &Settings::default(), &mesh.parse::<MeshSpec>().unwrap().to_mesh()).is_ok()
}

fn settings() -> impl Draw<Value = Settings> {
    use Sharding::{FullShard, HybridShard, HybridShardZero2, NoShard, ShardGradOp, Zero1};
    let sharding = select(vec![FullShard, ShardGradOp, Zero1, NoShard, HybridShard, HybridShardZero2]);
    let units = select(vec![Wrap::Layers, Wrap::Always, Wrap::Nothing]);
    let sizes = (0..12_u32).prop_map(|bits| Wrap::Size(1 << bits));
    let wrap = of(proptest::prop_oneof![3 => units, 1 => sizes]);
    let bucket = of((0..20_u32).prop_map(|bits| (1_u64 << bits) - 1));
    let narrow = proptest::option::weighted(0.2, (select(vec![DType::BF16, DType::F16]), any::<bool>()));
    (sharding, of(any::<bool>()), wrap, bucket, narrow, uniform7(any::<bool>())).prop_map(
        |(sharding, reshard_after_forward, wrap, bucket_bytes, narrow, flags)| Settings {
            sharding,
            reshard_after_forward,
            shard_param_on_dim_0: flags[0],
            split_stacks_first: flags[1],
            offload_params: flags[2],
            wrap,
            reshard_root: flags[3],
            backward_prefetch: if flags[4] { Prefetch::Pre } else { Prefetch::Post },
            sequence_parallel: flags[5],
            activation_checkpointing: flags[6],
            bucket_bytes,
            compute_dtype: narrow.map(|(dtype, _)| dtype),
            fp32_reduce_scatter: narrow.is_some_and(|(_, wide)| wide),
        },
    )
}

/// Cases on up to eight devices in any order.
fn case(steps: usize) -> impl Draw<Value = Case> {
    let order = of(Just((0..8).collect::<Vec<usize>>()).prop_shuffle());
    let axes = (0..AXES.len(), uniform4(1..9_usize));
    ((0..steps).no_shrink(), settings(), axes, order).prop_map(
        |(step, settings, (names, mut sizes), order)| {
            let names = AXES[names];
            // The product is limited to the number of devices.
            while sizes[..names.len()].iter().product::<usize>() > 8 {
                *sizes[..names.len()].iter_mut().max().unwrap() -= 1;
            }
            let axes: Vec<_> = names.iter().copied().zip(sizes).collect();
            let devices: usize = axes.iter().map(|(_, n)| n).product();
            let order = order.map(|all| all.into_iter().filter(|&id| id < devices).collect());
            Case::new(step, settings, axes, order)
        },
    )
}

/// Cases on eight devices.
fn case_of_eight(steps: usize) -> impl Draw<Value = Case> {
    let axes = (0..AXES.len(), uniform3(any::<usize>()));
    ((0..steps).no_shrink(), settings(), axes).prop_map(|(step, settings, (names, doubled))| {
        let names = AXES[names];
        let size = |axis| 1 << doubled.iter().filter(|&&n| n % names.len() == axis).count();
        let axes = names.iter().enumerate().map(|(axis, &name)| (name, size(axis))).collect();
        Case::new(step, settings, axes, None)
    })
}

/// The step as annotated by a strategy.
fn split(mut module: Module, roles: &Roles, settings: &Settings, mesh: &str) -> Result<Module, Failure> {
    if let Err(errors) = apply(&mut module, roles, settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh()) {
        return fails(errors[0].code, errors[0].to_string());
    }
    match shardc_ir::verify(&module) {
        Ok(()) => Ok(module),
        Err(errors) => fails("annotated program is invalid", errors[0].to_string()),
    }
}

/// Partitions a step. The inner error is the outcome of a step that is not supported.
fn partitioned(program: &Program, case: &Case, number: u64) -> Result<Result<Output, Outcome>, Failure> {
    let mesh = case.mesh(program);
    let (original, roles) = program.on(mesh.split('@').next().unwrap());
    let module = split(original, &roles, &case.settings, &mesh)?;
    // Half of the cases rematerialize all-gathers as much as possible.
    let clean = CleanOptions { memory_bytes: (number % 4 >= 2).then_some(0), ..CleanOptions::default() };
    match Compiler::new().spmd_mode(mode(number)).clean(clean).partition_module(module) {
        Ok(output) => Ok(Ok(output)),
        Err(Error::Diagnostics(why)) if why.iter().all(|d| d.class == Class::Unsupported) => {
            Ok(Err(Outcome::Refused(why[0].code.to_owned())))
        }
        Err(error) => fails("partitioning", error.to_string()),
    }
}

/// Compares a step with one device.
fn compared(
    client: &Client,
    program: &Program,
    case: &Case,
    number: u64,
    reference: &mut Option<Reference>,
) -> Result<Outcome, Failure> {
    let output = match partitioned(program, case, number)? {
        Ok(output) => output,
        Err(refused) => return Ok(refused),
    };
    let on_one = |(original, roles): (Module, Roles)| {
        let inputs = exec::random_inputs(&output.interface, 1);
        let inputs = inputs.and_then(|inputs| with_both_signs(&roles, inputs)).unwrap();
        Reference::on(client, original, inputs).unwrap()
    };
    let Settings { compute_dtype, fp32_reduce_scatter, .. } = case.settings;
    // The single-device reference also uses the narrower type.
    let narrow = match compute_dtype {
        None => None,
        Some(_) => {
            let settings = Settings { compute_dtype, fp32_reduce_scatter, ..Settings::default() };
            let (original, roles) = program.on(ONE);
            Some(on_one((split(original, &roles, &settings, ONE)?, roles)))
        }
    };
    let reference = match &narrow {
        Some(narrow) => narrow,
        None => reference.get_or_insert_with(|| on_one(program.on(ONE))),
    };
    match compare(client, reference, &output) {
        Verdict::Equal => Ok(Outcome::Equal),
        Verdict::Wrong(why) => fails("wrong values", why),
        Verdict::Refused(why) => fails("refused by the back end", why),
    }
}

/// Compiles a step for TPUs.
fn compiled(plugin: &Path, program: &Program, case: &Case, number: u64) -> Result<Outcome, Failure> {
    let output = match partitioned(program, case, number)? {
        Ok(output) => output,
        Err(refused) => return Ok(refused),
    };
    let request = CompileRequest {
        target: Target::parse(TPUS).unwrap(),
        plugin: plugin.to_owned(),
        program: output.backend_code_for(Backend::Tpu).unwrap(),
        options: exec::compile_options(output.interface.mode, output.num_devices()),
        executable: None,
    };
    match compile_in_child(&std::env::current_exe().unwrap(), &request) {
        Ok(_) => Ok(Outcome::Equal),
        Err(error) => fails("refused for TPUs", error.to_string()),
    }
}

/// Returns the steps. If there are none, prints a message and returns `None`.
fn programs() -> Result<Option<Vec<Program>>, Failed> {
    let Some(jax) = jax_steps()? else {
        skipped(Need::Python, "SHARDC_PYTHON names no Python with jax")?;
        return Ok(None);
    };
    let Some(shared) = shared_and_own() else {
        skipped(Need::Shared, "training steps of the shared data, which is not here")?;
        return Ok(None);
    };
    let jax = jax.iter().map(|(name, step)| step.program(name));
    Ok(Some(shared.into_iter().filter(|step| step.is_executable).chain(jax).collect()))
}

fn values() -> Result<(), Failed> {
    let Some(programs) = programs()? else { return Ok(()) };
    let references: RefCell<BTreeMap<usize, Option<Reference>>> = RefCell::default();
    let show = |case: &Case| case.show(&programs[case.step]);
    Ok(sweep("settings", CASES, &case(programs.len()), show, |client, case, number| {
        let mut references = references.borrow_mut();
        let reference = references.entry(case.step).or_default();
        caught(|| compared(client, &programs[case.step], case, number, reference))
    })?)
}

fn for_tpus() -> Result<(), Failed> {
    let plugin = match plugin::find(PluginKind::Tpu, &Environment::from_process()) {
        Ok(found) => found.path,
        Err(error) => return Ok(skipped(Need::TpuPlugin, &error.to_string())?),
    };
    let Some(programs) = programs()? else { return Ok(()) };
    let show = |case: &Case| case.show(&programs[case.step]);
    Ok(sweep("settings-for-tpus", COMPILED, &case_of_eight(programs.len()), show, |_, case, number| {
        caught(|| compiled(&plugin, &programs[case.step], case, number))
    })?)
}

fn main() -> ExitCode {
    // Compilation for TPUs runs in a child process of this program.
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(CHILD_COMMAND) {
        return ExitCode::from(words.next().map_or(2, |path| run_child(Path::new(&path))));
    }
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trials = [("values", values as fn() -> Result<(), Failed>), ("for TPUs", for_tpus)];
    let trials = trials.map(|(name, test)| Trial::test(name, test));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}
