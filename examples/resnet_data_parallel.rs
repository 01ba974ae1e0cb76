//! Trains a small ResNet to classify digits, with the batch sharded over eight devices (data parallelism, DDP). No sharding is annotated.
//! Batch normalization uses statistics of the global batch, so the losses equal those of one device.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin resnet_data_parallel
//! cargo run --release -p shardc-examples --bin resnet_data_parallel -- --fsdp zero1
//! ```
//!
//! The digits are those of the example `mnist`.

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType::F32, Graph, Tensor};
use shardc_examples::harness::Options;
use shardc_examples::reading::{self, Digits};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::ResNet;
use shardc_train::nn::optim::{self, Schedule, Sgd};
use shardc_train::nn::{Scope, StepProgram};

#[derive(Parser)]
#[command(about = "Trains a small ResNet on handwritten digits, with the batch sharded over eight devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    digits: Digits,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let options = args.options.or("data=8", "no_shard");
    let (training, evaluation) = (|steps| training_step(&options, steps), || evaluation(&options));
    reading::learn_to_read(&options, &args.digits, training, evaluation)
}

fn model<'g>(p: &Scope<'g>, images: Tensor<'g>, train: bool) -> Tensor<'g> {
    ResNet::resnet18(10).small_images().sizes(&[1, 1, 1], 16).apply(p, images, train)
}

fn training_step(options: &Options, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", &options.mesh()?);
    let p = options.scope(&g);
    let (images, labels) = reading::inputs(&g);
    let loss = CrossEntropy::new().mean(model(&p, images, true), labels);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 0.1, warmup: 10.0, steps: steps as f64, to: 0.0 };
    let sgd = Sgd::new(rate).with_momentum(0.9).with_weight_decay(1e-4);
    optim::apply(&sgd, &p, &p.gradients(loss));
    Ok(p.finish(&[("loss", loss)])?)
}

/// Returns the number of correct predictions, and the predictions.
fn evaluation(options: &Options) -> Result<StepProgram> {
    let g = Graph::new("evaluate", &options.mesh()?);
    let p = options.scope(&g);
    let (images, labels) = reading::inputs(&g);
    let guesses = model(&p, images, false).argmax(-1);
    Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..)), ("guesses", guesses)])?)
}
