//! The training steps: those of the shared data, which have no annotations, and some of our own graphs.

use std::sync::LazyLock;

use serde_json::Value;
use shardc::Compiler;
use shardc::graph::{DType, Graph, Keep, Mesh};
use shardc::nn::layers::{Dense, Moe};
use shardc::nn::loss::CrossEntropy;
use shardc::nn::models::Decoder;
use shardc::nn::optim::{self, AdamW, Sgd, clip_by_global_norm};
use shardc::nn::{Policy, Scope, StepProgram};
use shardc::strategy::roles_of;
use shardc_ir::Module;
use shardc_strategy::{Roles, Said, roles};
use shardc_tests::shared;

/// A training step.
pub(crate) struct Program {
    pub(crate) name: String,
    step: Step,
    pub(crate) is_executable: bool,
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
    pub(crate) fn on(&self, mesh: &str) -> (Module, Roles) {
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

pub(crate) static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
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
