//! Trains a vision transformer to classify digits on 4 x 2 devices. The batch is sharded over "data". Heads and hidden features are
//! sharded over "model", as in Megatron.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin vit
//! ```
//!
//! The digits are those of the example `mnist`.

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType::F32, Graph, Mesh, Tensor};
use shardc_examples::harness::Options;
use shardc_examples::reading::{self, Digits};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::{Vit, megatron};
use shardc_train::nn::optim::{self, AdamW, Schedule};
use shardc_train::nn::{Scope, StepProgram};

#[derive(Parser)]
#[command(about = "Trains a vision transformer on handwritten digits, on 4 x 2 devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    digits: Digits,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mesh = args.options.mesh()?;
    let (training, evaluation) = (|steps| training_step(&mesh, steps), || evaluation(&mesh));
    reading::learn_to_read(&args.options, &args.digits, training, evaluation)
}

/// The model: 16 patches of 7 x 7 pixels, and three layers.
fn model<'g>(p: &Scope<'g>, images: Tensor<'g>) -> Tensor<'g> {
    Vit::new(7, 64, 3, 4, 10).apply(p, images)
}

fn training_step(mesh: &Mesh, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (images, labels) = reading::inputs(&g);
    let loss = CrossEntropy::new().mean(model(&p, images), labels);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 2e-3, warmup: 20.0, steps: steps as f64, to: 0.0 };
    optim::apply(&AdamW::new(rate), &p, &p.gradients(loss));
    p.mark_sharding(|variable| megatron(variable, "model"));
    Ok(p.finish(&[("loss", loss)])?)
}

/// Returns the number of correct predictions, and the predictions.
fn evaluation(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("evaluate", mesh);
    let p = Scope::new(&g);
    let (images, labels) = reading::inputs(&g);
    let guesses = model(&p, images).argmax(-1);
    p.mark_sharding(|variable| megatron(variable, "model"));
    Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..)), ("guesses", guesses)])?)
}
