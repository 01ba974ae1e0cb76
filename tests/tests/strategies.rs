//! Strategies on real training steps without annotations: each gives the values of one device, and sends no more than the closed
//! form of the ZeRO paper (Rajbhandari et al., 2020, section 7).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use shardc::{Compiler, Output};
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_passes::cost::traffic::summarize;
use shardc_runtime::plugin;
use shardc_strategy::{Role, Roles, Said, Settings, Sharding, apply, roles};
use shardc_tests::devices::{Reference, Verdict, client, compare};
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

/// Each strategy on a mesh of eight devices.
const STRATEGIES: &[(&str, Sharding, &str)] = &[
    ("ddp", Sharding::NoShard, "data=8"),
    ("zero1", Sharding::Zero1, "data=8"),
    ("zero2", Sharding::ShardGradOp, "data=8"),
    ("zero3", Sharding::FullShard, "data=8"),
    ("hybrid", Sharding::HybridShard, "node=2,fsdp=4"),
    ("hybrid_zero2", Sharding::HybridShardZero2, "node=2,fsdp=4"),
];

/// How far above the closed form a program may be: 1 %.
const TOLERANCE: f64 = 1.01;

/// Programs that send more, in multiples of the closed form, and why.
const MORE: &[(&str, &str, f64, &str)] = &[
    ("llama70b_4l", "", 1.067, "the gradient of the embedding is summed in f32, of bf16 parameters"),
    ("llama7b_32l", "", 1.020, "the gradient of the embedding is summed in f32, of bf16 parameters"),
    ("resnet_tiny", "hybrid", 1.70, "20,000 parameters: sums are done at once rather than in two steps"),
    ("resnet_tiny", "", 1.10, "statistics of batch normalization are summed, too, of 20,000 parameters"),
    ("lstm_tiny", "hybrid", 1.60, "19,000 parameters: sums are done at once rather than in two steps"),
    ("lstm_tiny", "zero", 1.10, "gradients of gates lie side by side, and are split along another dimension"),
    ("unet_tiny", "hybrid", 1.60, "15,000 parameters: sums are done at once rather than in two steps"),
    (
        "vit_tiny_accum",
        "hybrid",
        1.35,
        "81,000 parameters: some sums are done at once rather than in two steps",
    ),
    ("llama_tiny", "hybrid", 1.20, "107,000 parameters: some sums are done at once rather than in two steps"),
    (
        "lora_llama_tiny",
        "hybrid",
        1.05,
        "3,000 trained parameters: sums are done at once rather than in two steps",
    ),
];

struct Program {
    name: String,
    module: Module,
    roles: Roles,
    is_executable: bool,
}

static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let folder = shared().unwrap().join("unsharded");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let read = |program: &Value| {
        let text = std::fs::read(folder.join(program["file"].as_str().unwrap())).unwrap();
        let module = Compiler::read(&text).unwrap();
        let roles = roles(&module, &Said::default()).unwrap();
        let name = program["name"].as_str().unwrap().to_owned();
        Program { name, module, roles, is_executable: program["executable"] == true }
    };
    manifest["programs"].as_array().unwrap().iter().map(read).collect()
});

fn main() -> ExitCode {
    // Before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    if shared().is_some() {
        trials.push(Trial::test("bytes", || Ok(bytes()?)));
        for (at, program) in PROGRAMS.iter().enumerate().filter(|(_, program)| program.is_executable) {
            trials.push(Trial::test(&program.name, move || Ok(equal(&PROGRAMS[at])?)));
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
    let mut module = program.module.clone();
    apply(&mut module, &program.roles, &settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh()).unwrap();
    shardc_ir::verify(&module).unwrap();
    module
}

/// The step computes by each strategy what it does on one device.
fn equal(program: &Program) -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let mut reference = None;
    let mut faults = String::new();
    for &(strategy, sharding, mesh) in STRATEGIES {
        let output = Compiler::new()
            .partition_module(annotated(program, sharding, mesh))
            .map_err(|error| error.to_string())?;
        if reference.is_none() {
            reference = Some(Reference::new(&client, program.module.clone(), &output)?);
        }
        match compare(&client, reference.as_ref().unwrap(), &output) {
            Verdict::Equal => {}
            Verdict::Wrong(why) | Verdict::Refused(why) => writeln!(faults, "{strategy}: {why}").unwrap(),
        }
    }
    for mesh in ["model=4", "data=2,model=4", "node=2,fsdp=2,model=2"] {
        let sharding = if mesh.starts_with("node") { Sharding::HybridShard } else { Sharding::FullShard };
        let output = Compiler::new()
            .partition_module(annotated(program, sharding, mesh))
            .map_err(|error| error.to_string())?;
        if let Verdict::Wrong(why) | Verdict::Refused(why) =
            compare(&client, reference.as_ref().unwrap(), &output)
        {
            writeln!(faults, "{mesh}: {why}").unwrap();
        }
    }
    let offloaded = annotated_by(program, Settings { offload_params: true, ..Settings::default() }, "fsdp=8");
    let output = Compiler::new().partition_module(offloaded).map_err(|error| error.to_string())?;
    if let Verdict::Wrong(why) | Verdict::Refused(why) =
        compare(&client, reference.as_ref().unwrap(), &output)
    {
        writeln!(faults, "offload: {why}").unwrap();
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// No partitioned step sends more than the closed form.
fn bytes() -> Result<(), String> {
    let mut faults = String::new();
    for program in PROGRAMS.iter() {
        for &(strategy, sharding, mesh) in STRATEGIES {
            let output = Compiler::new()
                .partition_module(annotated(program, sharding, mesh))
                .map_err(|error| error.to_string())?;
            let ratio = sent(&output) / closed_form(program, sharding);
            let listed = MORE.iter().find(|(name, of, ..)| *name == program.name && strategy.contains(of));
            if ratio > listed.map_or(TOLERANCE, |(_, _, most, _)| *most) {
                writeln!(faults, "{} {strategy}: {ratio:.4} of the closed form", program.name).unwrap();
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn sent(output: &Output) -> f64 {
    summarize(&output.module).iter().map(|row| row.bytes_in_run as f64).sum()
}

/// What a device sends in a step by the paper: gradients are reduced and parameters gathered over `k` devices, each of which takes
/// `(k - 1) / k` of their bytes; across nodes, of which each has a copy, the parts of gradients are summed. Frozen parameters are gathered.
fn closed_form(program: &Program, sharding: Sharding) -> f64 {
    let body = program.module.funcs[program.module.entry().unwrap()].body.unwrap();
    let args = &program.module.regions[body].args;
    let bytes = |role| -> f64 {
        let of = program.roles.of(role).map(|i| program.module.stored(args[i]).unwrap().num_bytes().unwrap());
        of.map(|n| n as f64).sum()
    };
    let (trained, frozen) = (bytes(Role::Parameter), bytes(Role::FrozenParameter));
    let share = |k: f64| (k - 1.0) / k;
    match sharding {
        Sharding::NoShard | Sharding::Zero1 => 2.0 * trained * share(8.0),
        Sharding::ShardGradOp => (2.0 * trained + frozen) * share(8.0),
        Sharding::FullShard => (3.0 * trained + 2.0 * frozen) * share(8.0),
        Sharding::HybridShardZero2 => {
            (2.0 * trained + frozen) * share(4.0) + 2.0 * (trained / 4.0) * share(2.0)
        }
        Sharding::HybridShard => {
            (3.0 * trained + 2.0 * frozen) * share(4.0) + 2.0 * (trained / 4.0) * share(2.0)
        }
    }
}
