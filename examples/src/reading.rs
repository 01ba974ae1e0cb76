//! Code shared by the examples that classify digits: data, training loop and evaluation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use shardc::graph::{
    DType::{F32, I32, UI8},
    Graph, Tensor,
};
use shardc::runtime::Client;
use shardc_train::data::Batches;
use shardc_train::data::idx::Idx;
use shardc_train::loader::{Arrays, Shuffled};
use shardc_train::nn::StepProgram;
use shardc_train::{HostArray, State, Step};

use crate::digits::{self, SIDE};
use crate::harness::{self, Options};
use crate::training::{self, Finished};

/// Global batch size.
pub const BATCH: usize = 64;

/// The data set.
#[derive(Args, Debug)]
pub struct Digits {
    /// Folder of MNIST's own files; generated digits if not given
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// Number of generated digits to train on
    #[arg(long, default_value_t = 8192)]
    pub examples: usize,
    /// Number of epochs
    #[arg(long, default_value_t = 2)]
    pub epochs: u64,
}

/// Parameters of a graph: images as floats from 0 to 1, `[BATCH, SIDE, SIDE, 1]`, and labels, sharded over "data".
#[must_use]
pub fn inputs(g: &Graph) -> (Tensor<'_>, Tensor<'_>) {
    let (batch, side) = (BATCH as i64, SIDE as i64);
    let images = g.parameter("images", [batch, side, side, 1], UI8);
    let labels = harness::batch(g.parameter("labels", [batch], I32));
    (harness::batch(images).to(F32) / 255.0, labels)
}

/// Trains with the step that `make` builds for a number of steps. Then prints the accuracy on held-out digits. `evaluation` is a step with
/// the results `right` and `guesses`.
///
/// # Errors
/// A program does not compile or run, or there are no digits.
#[expect(clippy::print_stdout, reason = "an example shows its results")]
pub fn learn_to_read(
    options: &Options,
    data: &Digits,
    make: impl FnOnce(u64) -> Result<StepProgram>,
    evaluation: impl FnOnce() -> Result<StepProgram>,
) -> Result<()> {
    let (images, labels) = load(data, "train", data.examples, 1)?;
    let client: Client = options.client()?;
    let batches = Batches::new(images.len() as u64, BATCH as u64, options.seed);
    let steps = options.limited(data.epochs * batches.per_epoch());
    let train = options.compile(&client, make(steps)?)?;
    let (x, y) = arrays(&images, &labels, &(0..images.len() as u64).collect::<Vec<_>>())?;
    let examples = Arrays::new(vec![("images", x), ("labels", y)])?;
    let source = Shuffled::new(examples, BATCH, options.seed);
    let Some(Finished { state, .. }) = training::train(options, &train, steps, BATCH as u64, source)? else {
        return Ok(());
    };
    let (images, labels) = load(data, "t10k", 1024, 2)?;
    let evaluate = options.compile(&client, evaluation()?)?;
    let mut weights = evaluate.adopt(&state)?;
    let right = accuracy(&evaluate, &mut weights, &images, &labels)?;
    println!("{:.1} % of {} held-out digits are classified correctly", 100.0 * right, images.len());
    let (x, y) = arrays(&images, &labels, &(0..BATCH as u64).collect::<Vec<_>>())?;
    let guesses = evaluate.run(&mut weights, &[("images", &x), ("labels", &y)])?.get("guesses")?;
    let guesses: Vec<i32> = guesses.to_vec().context("guesses are numbers")?;
    println!("{}\nis read as {}", digits::show(images.example(0)), guesses[0]);
    Ok(())
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

/// A batch for the devices.
fn arrays(images: &Idx, labels: &Idx, examples: &[u64]) -> Result<(HostArray, HostArray)> {
    let pixels: Vec<u8> = examples.iter().flat_map(|&i| images.example(i as usize)).copied().collect();
    let digits: Vec<i32> = examples.iter().map(|&i| i32::from(labels.data[i as usize])).collect();
    Ok((
        HostArray::from_slice(&pixels, &[examples.len(), SIDE, SIDE, 1])?,
        HostArray::from_slice(&digits, &[examples.len()])?,
    ))
}

/// MNIST's own files, or generated digits.
fn load(data: &Digits, set: &str, count: usize, seed: u64) -> Result<(Idx, Idx)> {
    let Some(dir) = &data.files else { return Ok(digits::draw(count, seed)) };
    let open = |what: &str| {
        let name = format!("{set}-{what}-ubyte");
        let packed = dir.join(format!("{name}.gz"));
        let path: &Path = &dir.join(name);
        Idx::open(if packed.is_file() { &packed } else { path })
    };
    let (images, labels) = (open("images-idx3")?, open("labels-idx1")?);
    ensure!(
        images.shape[1..] == [SIDE, SIDE] && images.len() == labels.len(),
        "the images are not digits of 28 x 28 pixels"
    );
    Ok((images, labels))
}
