//! Learns to read digits with two convolutions, on 4 x 2 devices: each row has its part of the batch, each column its part of the
//! wide layer.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin mnist
//! ```
//!
//! Digits are drawn (`examples/src/digits.rs`), so that nothing has to be fetched; `--files DIR` reads MNIST's own files instead:
//! `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and `t10k-...`, packed (`.gz`) or not.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use shardc::data::Batches;
use shardc::data::idx::Idx;
use shardc::graph::{
    DType::{F32, I32, UI8},
    Graph, Mesh, Padding, PartitionSpec, Tensor, spec,
};
use shardc::nn::layers::{Conv, Dense};
use shardc::nn::loss::CrossEntropy;
use shardc::nn::optim::{self, AdamW, Schedule};
use shardc::nn::{Scope, StepProgram};
use shardc::train::{HostArray, State, Step};
use shardc_examples::digits;
use shardc_examples::harness::Options;

/// Examples in a batch, on all devices together.
const BATCH: usize = 64;

#[derive(Parser)]
#[command(about = "Learns to read digits with two convolutions, on 4 x 2 devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// Where MNIST's own files are; drawn digits if not given
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Drawn digits to learn from
    #[arg(long, default_value_t = 8192)]
    examples: usize,
    /// How often all of them are seen
    #[arg(long, default_value_t = 2)]
    epochs: u64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let (images, labels) = load(&args, "train", args.examples, 1)?;
    let (test_images, test_labels) = load(&args, "t10k", 1024, 2)?;
    let client = args.options.client()?;
    let mesh = args.options.mesh()?;
    let batches = Batches::new(images.len() as u64, BATCH as u64, args.options.seed);
    let steps = args.options.limited(args.epochs * batches.per_epoch());
    let train = args.options.compile(&client, training_step(&mesh, steps)?)?;
    let mut state = train.init(args.options.seed)?;
    let mut progress = args.options.progress(steps);
    for batch in batches.take(steps as usize) {
        let (x, y) = arrays(&images, &labels, &batch.examples)?;
        let metrics = train.run(&mut state, &[("images", &x), ("labels", &y)])?;
        progress.step(metrics.scalar("loss")?, BATCH as u64);
    }
    progress.finish();
    let evaluate = args.options.compile(&client, evaluation(&mesh)?)?;
    let right = accuracy(&evaluate, &mut evaluate.adopt(&state)?, &test_images, &test_labels)?;
    println!(
        "{:.1} % of {} digits that were not learnt from are read right",
        100.0 * right,
        test_images.len()
    );
    let guesses = guess(&evaluate, &mut evaluate.adopt(&state)?, &test_images, &test_labels)?;
    println!("{}\nis read as {}", digits::show(test_images.example(0)), guesses[0]);
    Ok(())
}

/// The model: two convolutions with pooling, then two layers, of which the wide one is split over "model".
fn model<'g>(p: &Scope<'g>, images: Tensor<'g>) -> Tensor<'g> {
    let x = images.to(F32) / 255.0;
    let x = pooled(Conv::new(16, &[3, 3]).apply(&p.at("conv1"), x).relu());
    let x = pooled(Conv::new(32, &[3, 3]).apply(&p.at("conv2"), x).relu());
    let [batch, ..] = x.dims::<4>();
    let x = Dense::new(128).apply(&p.at("wide"), x.reshape([batch, -1])).relu();
    Dense::new(10).apply(&p.at("out"), x.mark_sharding(spec!["data", "model"]))
}

fn pooled(x: Tensor<'_>) -> Tensor<'_> {
    x.max_pool(&[2, 2], &[2, 2], &Padding::Valid)
}

/// Images and labels, and what the model says to the images.
fn logits<'g>(g: &'g Graph, p: &Scope<'g>, batch: usize) -> (Tensor<'g>, Tensor<'g>) {
    let side = digits::SIDE as i64;
    let images = g
        .parameter("images", [batch as i64, side, side, 1], UI8)
        .mark_sharding(spec!["data", None, None, None]);
    let labels = g.parameter("labels", [batch as i64], I32).mark_sharding(spec!["data"]);
    (model(p, images), labels)
}

fn training_step(mesh: &Mesh, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (logits, labels) = logits(&g, &p, BATCH);
    let loss = CrossEntropy::new().mean(logits, labels);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 2e-3, warmup: 20.0, steps: steps as f64, to: 0.0 };
    optim::apply(&AdamW::new(rate), &p, &p.gradients(loss));
    shard(&p);
    Ok(p.finish(&[("loss", loss)])?)
}

/// How many are read right, and what is read.
fn evaluation(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("evaluate", mesh);
    let p = Scope::new(&g);
    let (logits, labels) = logits(&g, &p, BATCH);
    let guesses = logits.argmax(-1);
    shard(&p);
    Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..)), ("guesses", guesses)])?)
}

/// The wide layer is split over "model"; what an optimiser keeps goes with it.
fn shard(p: &Scope<'_>) {
    p.mark_sharding(|variable| match variable.name.as_str() {
        "wide.kernel" => Some(spec![None, "model"]),
        "wide.bias" => Some(spec!["model"]),
        "out.kernel" => Some(spec!["model", None]),
        name if !name.starts_with("optimizer") => Some(PartitionSpec::replicated(variable.shape.len())),
        _ => None,
    });
}

fn accuracy(step: &Step, state: &mut State, images: &Idx, labels: &Idx) -> Result<f64> {
    let mut right = 0.0;
    let count = images.len() / BATCH * BATCH;
    for first in (0..count).step_by(BATCH) {
        let examples: Vec<u64> = (first..first + BATCH).map(|i| i as u64).collect();
        let (x, y) = arrays(images, labels, &examples)?;
        right += step.run(state, &[("images", &x), ("labels", &y)])?.scalar("right")?;
    }
    Ok(right / count as f64)
}

fn guess(step: &Step, state: &mut State, images: &Idx, labels: &Idx) -> Result<Vec<i32>> {
    let (x, y) = arrays(images, labels, &(0..BATCH as u64).collect::<Vec<_>>())?;
    let guesses = step.run(state, &[("images", &x), ("labels", &y)])?.get("guesses")?;
    guesses.to_vec().context("guesses are numbers")
}

/// A batch for the devices.
fn arrays(images: &Idx, labels: &Idx, examples: &[u64]) -> Result<(HostArray, HostArray)> {
    let side = digits::SIDE;
    let pixels: Vec<u8> = examples.iter().flat_map(|&i| images.example(i as usize)).copied().collect();
    let digits: Vec<i32> = examples.iter().map(|&i| i32::from(labels.data[i as usize])).collect();
    Ok((
        HostArray::from_slice(&pixels, &[examples.len(), side, side, 1])?,
        HostArray::from_slice(&digits, &[examples.len()])?,
    ))
}

/// MNIST's own files, or drawn digits.
fn load(args: &Args, set: &str, count: usize, seed: u64) -> Result<(Idx, Idx)> {
    let Some(dir) = &args.files else { return Ok(digits::draw(count, seed)) };
    let open = |what: &str| {
        let name = format!("{set}-{what}-ubyte");
        let packed = dir.join(format!("{name}.gz"));
        let path: &Path = &dir.join(name);
        Idx::open(if packed.is_file() { &packed } else { path })
    };
    let (images, labels) = (open("images-idx3")?, open("labels-idx1")?);
    let side = digits::SIDE;
    ensure!(
        images.shape[1..] == [side, side] && images.len() == labels.len(),
        "these are no digits of 28 x 28"
    );
    Ok((images, labels))
}
