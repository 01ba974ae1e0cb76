//! Training steps built with shardc's graph builder, in small sizes for tests and in real sizes.

use shardc::graph::{DType, Graph, Keep, Mesh};
use shardc_stablehlo::{PrintOptions, print};
use shardc_train::nn::layers::{Dense, Moe};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Decoder;
use shardc_train::nn::optim::{self, AdamW, Sgd, clip_by_global_norm};
use shardc_train::nn::{Policy, Scope, StepProgram};

/// A step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The name of the step.
    pub name: &'static str,
    /// Whether the step is small enough to run.
    pub is_executable: bool,
    make: fn(&Mesh) -> StepProgram,
}

/// All steps.
pub const STEPS: [Step; 5] = [
    Step { name: "moe", is_executable: true, make: moe },
    Step { name: "mlp", is_executable: true, make: mlp },
    Step { name: "llama_tiny", is_executable: true, make: llama_tiny },
    Step { name: "gpt2", is_executable: false, make: gpt2 },
    Step { name: "llama7b_2l", is_executable: false, make: llama7b_2l },
];

impl Step {
    /// The step on a mesh, which is written `name=size,..`.
    ///
    /// # Panics
    ///
    /// Panics if `mesh` is not a valid mesh.
    #[must_use]
    pub fn on(&self, mesh: &str) -> StepProgram {
        let axes = mesh.split(',').map(|axis| axis.split_once('=').unwrap());
        let axes: Vec<(&str, i64)> = axes.map(|(name, n)| (name, n.parse().unwrap())).collect();
        (self.make)(&Mesh::new(&axes).unwrap())
    }

    /// The file name of the step on a mesh.
    #[must_use]
    pub fn file(&self, mesh: &str) -> String {
        format!("{}.{mesh}.mlir", self.name)
    }

    /// The StableHLO text of the training step, with its shardings on `mesh`.
    ///
    /// # Panics
    ///
    /// Panics if `mesh` is not a valid mesh.
    #[must_use]
    pub fn text(&self, mesh: &str) -> String {
        print(&self.on(mesh).module, &PrintOptions::default())
    }
}

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

/// A step of AdamW with gradient clipping and rematerialized layers.
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
