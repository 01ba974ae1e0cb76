//! Strategies on real training steps without annotations. Each produces the results of one device, and sends no more than the closed form
//! of the ZeRO paper (Rajbhandari et al., 2020, section 7).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod checkpointing;
mod closed_form;
mod fused;
mod reads;

use std::fmt::Write as _;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::Compiler;
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_runtime::plugin;
use shardc_strategy::{PerParameter, Role, Settings, Sharding, apply, stored_bytes};
use shardc_tests::devices::{Reference, Verdict, client, compare};
use shardc_tests::sample::sample;
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::training::{PROGRAMS, Program};

/// Each strategy on a mesh of eight devices.
const STRATEGIES: &[(&str, Sharding, &str)] = &[
    ("ddp", Sharding::NoShard, "data=8"),
    ("zero1", Sharding::Zero1, "data=8"),
    ("zero2", Sharding::ShardGradOp, "data=8"),
    ("zero3", Sharding::FullShard, "data=8"),
    ("hybrid", Sharding::HybridShard, "node=2,fsdp=4"),
    ("hybrid_zero2", Sharding::HybridShardZero2, "node=2,fsdp=4"),
];

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let mut trials = vec![
        Trial::test("fused", || Ok(fused::all_ways_cost_the_same()?)),
        Trial::test("heads", || Ok(fused::heads_are_sharded()?)),
    ];
    if shared().is_some() {
        trials.push(Trial::test("bytes", || Ok(closed_form::bytes()?)));
        trials.push(Trial::test("checkpointing", || Ok(checkpointing::fewer_activations_are_kept()?)));
        trials.push(Trial::test("kept", || Ok(stored_bytes_match_the_formulas()?)));
        for (at, program) in PROGRAMS.iter().enumerate().filter(|(_, program)| program.is_executable) {
            trials.push(Trial::test(&program.name, move || Ok(equal(at)?)));
        }
    } else {
        trials.push(Trial::test("shared", || {
            Ok::<(), Failed>(skipped(Need::Shared, "training steps of the shared data, which is not here")?)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn annotated(program: &Program, sharding: Sharding, mesh: &str) -> Module {
    annotated_by(program, Settings { sharding, ..Settings::default() }, mesh)
}

fn annotated_by(program: &Program, settings: Settings, mesh: &str) -> Module {
    let (mut module, roles) = program.on(mesh);
    apply(&mut module, &roles, &settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh()).unwrap();
    shardc_ir::verify(&module).unwrap();
    module
}

/// Command-line options to combine with a strategy, each with the mesh to use.
const WORDS: &[(&str, &str)] = &[
    ("full_shard offload", "fsdp=8"),
    ("full_shard auto_wrap", "fsdp=8"),
    ("full_shard auto_wrap backward_prefetch", "fsdp=8"),
    ("full_shard always_wrap", "fsdp=8"),
    ("hybrid_shard min_num_params=5000", "node=2,fsdp=4"),
    ("full_shard no_wrap", "fsdp=8"),
    ("full_shard", "model=4"),
    ("full_shard", "data=2,model=4"),
    ("hybrid_shard", "node=2,fsdp=2,model=2"),
    ("full_shard sequence_parallel", "data=2,model=4"),
    ("full_shard", "data=2,context=4"),
    ("hybrid_shard auto_wrap sequence_parallel", "node=2,fsdp=1,cp=2,tp=2"),
    ("full_shard", "data=2,expert=4"),
    ("hybrid_shard_zero2", "node=2,expert=2,model=2"),
    ("full_shard auto_wrap activation_checkpointing", "fsdp=8"),
    ("hybrid_shard always_wrap activation_checkpointing", "node=2,fsdp=2,model=2"),
];

/// Mixed precision, which the single-device reference also uses.
const NARROW: &[&str] =
    &["full_shard bf16", "full_shard auto_wrap bf16 fp32_reduce_scatter", "shard_grad_op fp16"];

/// A program is tried with every sixth strategy and every tenth of [`WORDS`] and [`NARROW`], and with all of them in a thorough run. The ten
/// executable programs follow each other in [`PROGRAMS`], so that together they try everything.
const EVERY: [usize; 3] = [6, 10, 10];

/// The step produces the results of one device with each strategy, and with some of the settings.
fn equal(at: usize) -> Result<(), String> {
    let program = &PROGRAMS[at];
    let Some(client) = client()? else { return Ok(()) };
    let mut faults = String::new();
    let mut reference = None;
    let mut check = |reference: &mut Option<Reference>, module: Module, original: &Module, what: &str| {
        let output = Compiler::new().partition_module(module).map_err(|error| error.to_string())?;
        if reference.is_none() {
            *reference = Some(Reference::new(&client, original.clone(), &output)?);
        }
        match reference.as_ref().map(|reference| compare(&client, reference, &output)) {
            Some(Verdict::Wrong(why) | Verdict::Refused(why)) => writeln!(faults, "{what}: {why}").unwrap(),
            Some(Verdict::Equal) | None => {}
        }
        Ok::<(), String>(())
    };
    for &(strategy, sharding, mesh) in sample(STRATEGIES.iter(), at, EVERY[0]) {
        check(&mut reference, annotated(program, sharding, mesh), &program.on(mesh).0, strategy)?;
    }
    for &(words, mesh) in sample(WORDS.iter(), at, EVERY[1]) {
        let (mut module, roles) = program.on(mesh);
        let original = module.clone();
        let settings = Settings::from_words(words).unwrap();
        match apply(&mut module, &roles, &settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh()) {
            Ok(_) => check(&mut reference, module, &original, &format!("{words} on {mesh}"))?,
            // Context parallelism is rejected for steps without a sequence dimension.
            Err(errors) if errors[0].code == "SH1251" && has_context(mesh) => {}
            Err(errors) => return Err(errors[0].to_string()),
        }
    }
    for words in sample(NARROW.iter(), at, EVERY[2]) {
        let narrowed = |mesh| annotated_by(program, Settings::from_words(words).unwrap(), mesh);
        check(&mut None, narrowed("fsdp=8"), &narrowed("fsdp=1"), words)?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn has_context(mesh: &str) -> bool {
    mesh.contains("context") || mesh.contains("cp")
}

/// Relative tolerance for the bytes stored on a device: parameters too small to shard remain replicated, and uneven shards are padded.
const KEPT: f64 = 0.01;

/// Programs that store more than the formula, each with the factor and the reason.
const KEPT_MORE: &[(&str, f64, &str)] =
    &[("resnet_tiny", 1.06, "20,000 parameters, of which biases of 4 numbers are whole on 8 devices")];

/// Parameters, accumulated gradients and optimizer state on each device are the fraction given in the ZeRO paper.
fn stored_bytes_match_the_formulas() -> Result<(), String> {
    let mut faults = String::new();
    for (at, program) in PROGRAMS.iter().enumerate() {
        for &(strategy, sharding, mesh) in sample(STRATEGIES.iter(), at, 3) {
            let (_, roles) = program.on(mesh);
            let output = Compiler::new()
                .partition_module(annotated(program, sharding, mesh))
                .map_err(|error| error.to_string())?;
            let bytes =
                |shape: &[i64], bits: u32| (shape.iter().product::<i64>() * i64::from(bits)) as f64 / 8.0;
            let of = |is: &dyn Fn(Role) -> bool| -> (f64, f64) {
                let inputs = output.interface.inputs.iter().zip(&roles.arguments);
                let inputs = inputs.filter(|(_, argument)| is(argument.role));
                inputs.fold((0.0, 0.0), |(all, own), (input, _)| {
                    let bits = input.global.dtype.bits();
                    (all + bytes(&input.global.shape, bits), own + bytes(&input.local_shape, bits))
                })
            };
            // The number of shards of parameters, gradients and state.
            let nodes = if mesh.starts_with("node") { 2 } else { 1 };
            let one = PerParameter { parameter: 1.0, gradient: 1.0, optimizer: 1.0 };
            // Between steps, `SHARD_GRAD_OP` also shards parameters; they are replicated only during a step.
            let between = match sharding {
                Sharding::ShardGradOp => Sharding::FullShard,
                Sharding::HybridShardZero2 => Sharding::HybridShard,
                other => other,
            };
            let part = stored_bytes(1.0, one, between, 8, nodes);
            let classes = [
                ("parameters", of(&Role::is_weight), part.parameters),
                ("gradients", of(&|role| role == Role::GradientAccumulator), part.gradients),
                ("optimizer state", of(&|role| role == Role::OptimizerState), part.optimizer),
            ];
            for (class, (all, own), part) in classes {
                let ratio = if all > 0.0 { own / (all * part) } else { 1.0 };
                let listed = KEPT_MORE.iter().find(|(name, ..)| *name == program.name);
                if ratio < 1.0 - 1e-9 || ratio > listed.map_or(1.0 + KEPT, |(_, most, _)| *most) {
                    writeln!(faults, "{} {strategy}: {class} {ratio:.4} of the formula", program.name)
                        .unwrap();
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
