//! Strategies on real training steps without annotations: each gives the values of one device, and sends no more than the closed
//! form of the ZeRO paper (Rajbhandari et al., 2020, section 7).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use shardc::graph::{DType, Graph, Keep, Mesh};
use shardc::nn::layers::{Dense, Moe};
use shardc::nn::loss::CrossEntropy;
use shardc::nn::models::Decoder;
use shardc::nn::optim::{self, AdamW, Sgd, clip_by_global_norm};
use shardc::nn::{Policy, Scope, StepProgram};
use shardc::strategy::roles_of;
use shardc::{Compiler, Output};
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_passes::cost::traffic::summarize;
use shardc_runtime::plugin;
use shardc_strategy::{PerParameter, Role, Roles, Said, Settings, Sharding, apply, kept, roles};
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
        "own llama_tiny",
        "hybrid",
        1.09,
        "107,000 parameters: some sums are done at once rather than in two steps",
    ),
    (
        "lora_llama_tiny",
        "hybrid",
        1.05,
        "3,000 trained parameters: sums are done at once rather than in two steps",
    ),
];

struct Program {
    name: String,
    step: Step,
    is_executable: bool,
}

type Make = fn(&Mesh) -> StepProgram;

/// Where a step comes from.
enum Step {
    /// A file, which has no mesh.
    Read(Box<Module>, Roles),
    /// A graph of our own, which is written for a mesh.
    Own(Make),
}

impl Program {
    fn on(&self, mesh: &str) -> (Module, Roles) {
        match &self.step {
            Step::Read(module, roles) => ((**module).clone(), roles.clone()),
            Step::Own(make) => {
                let axes = mesh.split(',').map(|axis| axis.split_once('=').unwrap());
                let axes: Vec<(&str, i64)> = axes.map(|(name, n)| (name, n.parse().unwrap())).collect();
                let step = make(&Mesh::new(&axes).unwrap());
                let roles = roles_of(&step).unwrap();
                (step.module, roles)
            }
        }
    }
}

/// Steps of our own graphs, and whether they are small enough to run.
const OWN: [(&str, bool, Make); 5] = [
    ("own moe", true, moe),
    ("own mlp", true, mlp),
    ("own llama_tiny", true, llama_tiny),
    ("own gpt2", false, gpt2),
    ("own llama7b_2l", false, llama7b_2l),
];

fn mlp(mesh: &Mesh) -> StepProgram {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (x, labels) = (g.parameter("x", [64, 128], DType::F32), g.parameter("labels", [64], DType::I32));
    let hidden = Dense::new(256).apply(&p.at("hidden"), x).relu();
    let loss = CrossEntropy::new().mean(Dense::new(16).apply(&p.at("out"), hidden), labels);
    optim::apply(&Sgd::new(0.1).with_momentum(0.9), &p, &p.gradients(loss));
    p.finish(&[("loss", loss)]).unwrap()
}

fn moe(mesh: &Mesh) -> StepProgram {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (x, y) = (g.parameter("x", [16, 16, 32], DType::F32), g.parameter("y", [16, 16, 32], DType::F32));
    let (out, balance) = Moe::new(8, 2, 64).apply(&p.at("moe"), x);
    let loss = (out - y).square().mean(..) + 0.01 * balance;
    optim::apply(&AdamW::new(1e-3), &p, &p.gradients(loss));
    p.finish(&[("loss", loss)]).unwrap()
}

fn llama_tiny(mesh: &Mesh) -> StepProgram {
    language_model(mesh, &Decoder::llama(256, 64, 192, 2, 4, 2), Policy::default(), [16, 32])
}

fn gpt2(mesh: &Mesh) -> StepProgram {
    language_model(mesh, &Decoder::gpt2(50304, 1024, 768, 12, 12), Policy::mixed_bf16(), [16, 1024])
}

fn llama7b_2l(mesh: &Mesh) -> StepProgram {
    let llama = Decoder::llama(32000, 4096, 11008, 2, 32, 32);
    language_model(mesh, &llama, Policy::all(DType::BF16), [8, 2048])
}

/// A step of AdamW with clipped gradients, layers computed again.
fn language_model(mesh: &Mesh, model: &Decoder, policy: Policy, batch: [i64; 2]) -> StepProgram {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g).with_policy(policy).checkpointed(Keep::Nothing);
    let tokens = g.parameter("tokens", [batch[0], batch[1] + 1], DType::I32);
    let logits = model.apply(&p, tokens.slice(1, ..-1), None);
    let loss = CrossEntropy::new().mean(logits, tokens.slice(1, 1..));
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    optim::apply(&AdamW::new(1e-3), &p, &gradients);
    p.finish(&[("loss", loss)]).unwrap()
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
        Program {
            name,
            step: Step::Read(Box::new(module), roles),
            is_executable: program["executable"] == true,
        }
    };
    let own = OWN.iter().map(|&(name, is_executable, make)| Program {
        name: name.to_owned(),
        step: Step::Own(make),
        is_executable,
    });
    manifest["programs"].as_array().unwrap().iter().map(read).chain(own).collect()
});

fn main() -> ExitCode {
    // Before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    if shared().is_some() {
        trials.push(Trial::test("bytes", || Ok(bytes()?)));
        trials.push(Trial::test("kept", || Ok(kept_as_the_formulas_say()?)));
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

/// Settings besides a strategy, in words, and the mesh.
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
];

/// Computing in a narrower type, which one device does, too.
const NARROW: &[&str] =
    &["full_shard bf16", "full_shard auto_wrap bf16 fp32_reduce_scatter", "shard_grad_op fp16"];

/// One in so many of the settings is tried on a program: each on some, all on all would take ten minutes.
const OF_WORDS: usize = 3;

/// The step computes by each strategy what it does on one device, and by some of the settings.
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
    for &(strategy, sharding, mesh) in STRATEGIES {
        check(&mut reference, annotated(program, sharding, mesh), &program.on(mesh).0, strategy)?;
    }
    for &(words, mesh) in WORDS.iter().skip(at % OF_WORDS).step_by(OF_WORDS) {
        let (mut module, roles) = program.on(mesh);
        let original = module.clone();
        let settings = Settings::from_words(words).unwrap();
        match apply(&mut module, &roles, &settings, &mesh.parse::<MeshSpec>().unwrap().to_mesh()) {
            Ok(()) => check(&mut reference, module, &original, &format!("{words} on {mesh}"))?,
            // Not every step has sequences.
            Err(errors) if errors[0].code == "SH1251" && has_context(mesh) => {}
            Err(errors) => return Err(errors[0].to_string()),
        }
    }
    for words in NARROW.iter().skip(at % OF_WORDS).step_by(OF_WORDS) {
        let narrowed = |mesh| annotated_by(program, Settings::from_words(words).unwrap(), mesh);
        check(&mut None, narrowed("fsdp=8"), &narrowed("fsdp=1"), words)?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn has_context(mesh: &str) -> bool {
    mesh.contains("context") || mesh.contains("cp")
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

/// How far what a device keeps may be from the formulas: what is too small for a part on each device stays whole, and the last part of
/// what does not divide is as large as the others.
const KEPT: f64 = 0.01;

/// Programs that keep more, in multiples of the formula, and why.
const KEPT_MORE: &[(&str, f64, &str)] =
    &[("resnet_tiny", 1.06, "20,000 parameters, of which biases of 4 numbers are whole on 8 devices")];

/// Parameters, gradients that are accumulated, and optimizer state of each device are the part of them that the ZeRO paper says.
fn kept_as_the_formulas_say() -> Result<(), String> {
    let mut faults = String::new();
    for program in PROGRAMS.iter() {
        for &(strategy, sharding, mesh) in STRATEGIES {
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
            // Over how many devices parameters, gradients and state are split.
            let nodes = if mesh.starts_with("node") { 2 } else { 1 };
            let one = PerParameter { parameter: 1.0, gradient: 1.0, optimizer: 1.0 };
            // Between steps `SHARD_GRAD_OP` has parameters in parts, too: they are whole while a step runs.
            let between = match sharding {
                Sharding::ShardGradOp => Sharding::FullShard,
                Sharding::HybridShardZero2 => Sharding::HybridShard,
                other => other,
            };
            let part = kept(1.0, one, between, 8, nodes);
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

fn sent(output: &Output) -> f64 {
    summarize(&output.module).iter().map(|row| row.bytes_in_run as f64).sum()
}

/// What a device sends in a step by the paper: gradients are reduced and parameters gathered over `k` devices, each of which takes
/// `(k - 1) / k` of their bytes; across nodes, of which each has a copy, the parts of gradients are summed. Frozen parameters are gathered.
fn closed_form(program: &Program, sharding: Sharding) -> f64 {
    let (module, roles) = program.on("fsdp=8");
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let args = &module.regions[body].args;
    let bytes = |role| -> f64 {
        let of = roles.of(role).map(|i| module.stored(args[i]).unwrap().num_bytes().unwrap());
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
