//! Trains a digit classifier with two convolutions on 4 x 2 devices. The batch is sharded over "data", the wide layer over "model".
//!
//! ```text
//! cargo run --release -p shardc-examples --bin mnist
//! ```
//!
//! The digits are generated (`examples/src/digits.rs`), so no download is needed. `--files DIR` reads MNIST's own files instead:
//! `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and `t10k-...`, with or without gzip (`.gz`).

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType::F32, Graph, Mesh, Padding, PartitionSpec, Tensor, spec};
use shardc_examples::harness::Options;
use shardc_examples::reading::{self, Digits};
use shardc_train::nn::layers::{Conv, Dense};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::optim::{self, AdamW, Schedule};
use shardc_train::nn::{Scope, StepProgram, Variable};

#[derive(Parser)]
#[command(about = "Trains two convolutions on handwritten digits, on 4 x 2 devices")]
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

/// The model: two convolutions with pooling, then two dense layers; the wide layer is sharded over "model".
fn model<'g>(p: &Scope<'g>, images: Tensor<'g>) -> Tensor<'g> {
    let x = pooled(Conv::new(16, &[3, 3]).apply(&p.at("conv1"), images).relu());
    let x = pooled(Conv::new(32, &[3, 3]).apply(&p.at("conv2"), x).relu());
    let [batch, ..] = x.dims::<4>();
    let x = Dense::new(128).apply(&p.at("wide"), x.reshape([batch, -1])).relu();
    Dense::new(10).apply(&p.at("out"), x.mark_sharding(spec!["data", "model"]))
}

fn pooled(x: Tensor<'_>) -> Tensor<'_> {
    x.max_pool(&[2, 2], &[2, 2], &Padding::Valid)
}

fn training_step(mesh: &Mesh, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (images, labels) = reading::inputs(&g);
    let loss = CrossEntropy::new().mean(model(&p, images), labels);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 2e-3, warmup: 20.0, steps: steps as f64, to: 0.0 };
    optim::apply(&AdamW::new(rate), &p, &p.gradients(loss));
    p.mark_sharding(split);
    Ok(p.finish(&[("loss", loss)])?)
}

/// Returns the number of correct predictions, and the predictions.
fn evaluation(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("evaluate", mesh);
    let p = Scope::new(&g);
    let (images, labels) = reading::inputs(&g);
    let guesses = model(&p, images).argmax(-1);
    p.mark_sharding(split);
    Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..)), ("guesses", guesses)])?)
}

/// The shardings of variables: the wide layer and its optimizer state are sharded over "model".
fn split(variable: &Variable) -> Option<PartitionSpec> {
    match variable.name.as_str() {
        "wide.kernel" => Some(spec![None, "model"]),
        "wide.bias" => Some(spec!["model"]),
        "out.kernel" => Some(spec!["model", None]),
        name if !name.starts_with("optimizer") => Some(PartitionSpec::replicated(variable.shape.len())),
        _ => None,
    }
}
