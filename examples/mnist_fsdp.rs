//! Trains a digit classifier with parameters, gradients and optimizer state sharded over eight devices (FSDP, ZeRO-3). No sharding is
//! annotated: the strategy shards everything. Each convolution is an FSDP unit, which is recomputed in the backward pass.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin mnist_fsdp
//! cargo run --release -p shardc-examples --bin mnist_fsdp -- --fsdp shard_grad_op --mesh fsdp=4
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType::F32, Graph, Keep, Padding, Tensor};
use shardc_examples::harness::Options;
use shardc_examples::reading::{self, Digits};
use shardc_train::nn::layers::{Conv, Dense};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::optim::{self, AdamW, Schedule};
use shardc_train::nn::{Scope, StepProgram};

#[derive(Parser)]
#[command(about = "Trains on handwritten digits, with all state sharded over eight devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    digits: Digits,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let options = args.options.or("fsdp=8", "full_shard");
    let (training, evaluation) = (|steps| training_step(&options, steps), || evaluation(&options));
    reading::learn_to_read(&options, &args.digits, training, evaluation)
}

/// Nested FSDP units: each of the two units in `features` is all-gathered, used and freed separately, in the forward and the backward
/// pass.
fn model<'g>(p: &Scope<'g>, images: Tensor<'g>) -> Tensor<'g> {
    let x = p.unit("features", images, |p, x| {
        let x = p.unit("conv1", x, |p, x| pooled(Conv::new(16, &[3, 3]).apply(p, x).relu()));
        p.unit("conv2", x, |p, x| pooled(Conv::new(32, &[3, 3]).apply(p, x).relu()))
    });
    let [batch, ..] = x.dims::<4>();
    let x = p.unit("wide", x.reshape([batch, -1]), |p, x| Dense::new(128).apply(p, x).relu());
    Dense::new(10).apply(&p.at("out"), x)
}

fn pooled(x: Tensor<'_>) -> Tensor<'_> {
    x.max_pool(&[2, 2], &[2, 2], &Padding::Valid)
}

fn training_step(options: &Options, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", &options.mesh()?);
    let p = options.scope(&g).checkpointed(Keep::Nothing);
    let (images, labels) = reading::inputs(&g);
    let loss = CrossEntropy::new().mean(model(&p, images), labels);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 2e-3, warmup: 20.0, steps: steps as f64, to: 0.0 };
    optim::apply(&AdamW::new(rate), &p, &p.gradients(loss));
    Ok(p.finish(&[("loss", loss)])?)
}

/// Returns the number of correct predictions, and the predictions.
fn evaluation(options: &Options) -> Result<StepProgram> {
    let g = Graph::new("evaluate", &options.mesh()?);
    let p = options.scope(&g);
    let (images, labels) = reading::inputs(&g);
    let guesses = model(&p, images).argmax(-1);
    Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..)), ("guesses", guesses)])?)
}
