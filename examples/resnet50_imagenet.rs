//! Trains ResNet-50 with its ImageNet recipe, with all state sharded over eight devices (FSDP). Each block is an FSDP unit; no sharding is
//! annotated. The learning rate is warmed up over the first epochs, and then divided by ten after each third of the remaining epochs.
//! Evaluation uses center crops.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin resnet50_imagenet
//! cargo run --release -p shardc-examples --bin resnet50_imagenet -- --folder imagenet --side 224 --batch 256 --epochs 90
//! ```
//!
//! The folder `--folder` has `train` and `val`, each with one folder of JPEG or PNG files per class. Without this option, images are
//! generated, and one block in each stage is enough to classify them.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use shardc::graph::{
    DType::{F32, I32, UI8},
    Graph, Keep, Tensor,
};
use shardc_examples::harness::{self, Options};
use shardc_examples::pictures;
use shardc_examples::training::{self, Finished};
use shardc_train::HostArray;
use shardc_train::data::Batches;
use shardc_train::data::image_folder::{Cut, ImageFolder};
use shardc_train::loader::Callback;
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::ResNet;
use shardc_train::nn::optim::{self, Schedule, Sgd};
use shardc_train::nn::{Scope, StepProgram};

/// ImageNet's mean color.
const MEAN: [f32; 3] = [0.485, 0.456, 0.406];

/// ImageNet's standard deviation of colors.
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

#[derive(Parser)]
#[command(about = "Trains ResNet-50 on a folder of images, with all state sharded over eight devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// A folder with `train` and `val`, each with one folder of images per class; generated images if not given
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Height and width of an image in pixels
    #[arg(long, default_value_t = 32)]
    side: u32,
    /// Global batch size
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// Number of epochs
    #[arg(long, default_value_t = 8)]
    epochs: u64,
    /// The peak learning rate; by default 0.1 for a batch of 256 images, and more for generated images
    #[arg(long)]
    rate: Option<f64>,
    /// Features of the first stage; by default 64, and 16 for generated images
    #[arg(long)]
    features: Option<i64>,
    /// Blocks of each stage; by default 3,4,6,3, and 1,1,1,1 for generated images
    #[arg(long, value_delimiter = ',')]
    blocks: Option<Vec<i64>>,
    /// Recompute blocks in the backward pass
    #[arg(long)]
    checkpoint: bool,
}

#[expect(clippy::print_stdout, reason = "an example shows its results")]
fn main() -> Result<()> {
    let args = Args::parse();
    let options = args.options.clone().or("fsdp=8", "full_shard");
    let drawn = tempfile::tempdir()?;
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => {
            pictures::draw(&drawn.path().join("train"), 40, 1)?;
            pictures::draw(&drawn.path().join("val"), 16, 2)?;
            drawn.path().to_owned()
        }
    };
    let images = ImageFolder::open(&folder.join("train"))?;
    let seen = ImageFolder::open(&folder.join("val"))?;
    ensure!(images.classes == seen.classes, "`train` and `val` have different classes");
    let model = Model { args: &args, options: &options, classes: images.classes.len() as i64 };
    let client = options.client()?;
    let batches = Batches::new(images.len() as u64, args.batch as u64, options.seed);
    let per_epoch = batches.per_epoch();
    let steps = options.limited(args.epochs * per_epoch);
    let train = options.compile(&client, model.training_step(steps)?)?;
    // Images are read and cropped while the devices compute, with new crops in each epoch.
    let (seed, side) = (options.seed, args.side);
    let source = Callback::new(&["images", "labels"], move |number, rows| {
        let cut = |i: u64| Cut::Random(seed ^ i ^ (number / per_epoch) << 40);
        let batch = batches.at(number, rows.start as u64..rows.end as u64);
        let (x, y) = arrays(&images, &batch.examples, side, cut)?;
        Ok(vec![x, y])
    });
    let trained = training::train(&options, &train, steps, args.batch as u64, source)?;
    let Some(Finished { state, .. }) = trained else { return Ok(()) };
    let evaluate = options.compile(&client, model.evaluation()?)?;
    let mut weights = evaluate.adopt(&state)?;
    let (mut right, mut count) = (0.0, 0);
    for first in (0..seen.len() / args.batch * args.batch).step_by(args.batch) {
        let examples: Vec<u64> = (first..first + args.batch).map(|i| i as u64).collect();
        let (x, y) = arrays(&seen, &examples, args.side, |_| Cut::Middle)?;
        right += evaluate.run(&mut weights, &[("images", &x), ("labels", &y)])?.scalar("right")?;
        count += args.batch;
    }
    println!("{:.1} % of {count} held-out images are classified correctly", 100.0 * right / count as f64);
    Ok(())
}

/// The model, and its training configuration.
struct Model<'a> {
    args: &'a Args,
    options: &'a Options,
    classes: i64,
}

impl Model<'_> {
    fn logits<'g>(&self, p: &Scope<'g>, images: Tensor<'g>, train: bool) -> Tensor<'g> {
        let (blocks, features): (&[i64], i64) = match self.args.folder {
            Some(_) => (&[3, 4, 6, 3], 64),
            None => (&[1, 1, 1, 1], 16),
        };
        let blocks = self.args.blocks.as_deref().unwrap_or(blocks);
        let model = ResNet::resnet50(self.classes).sizes(blocks, self.args.features.unwrap_or(features));
        let model = if self.args.side < 64 { model.small_images() } else { model };
        model.apply(p, images, train)
    }

    /// Parameters of a graph: images normalized to mean zero and deviation one, and labels.
    fn inputs<'g>(&self, g: &'g Graph) -> (Tensor<'g>, Tensor<'g>) {
        let (batch, side) = (self.args.batch as i64, i64::from(self.args.side));
        let images = g.parameter("images", [batch, side, side, 3], UI8);
        let labels = harness::batch(g.parameter("labels", [batch], I32));
        let [mean, deviation] = [MEAN, DEVIATION].map(|colours| g.constant(&colours, [3]));
        ((harness::batch(images).to(F32) / 255.0 - mean) / deviation, labels)
    }

    fn training_step(&self, steps: u64) -> Result<StepProgram> {
        let g = Graph::new("train", &self.options.mesh()?);
        let p = self.options.scope(&g);
        let p = if self.args.checkpoint { p.checkpointed(Keep::Nothing) } else { p };
        let (images, labels) = self.inputs(&g);
        let loss = CrossEntropy::new().label_smoothing(0.1).mean(self.logits(&p, images, true), labels);
        let third = steps as f64 / 3.0;
        let rate = match self.args.folder {
            Some(_) => 0.1 * self.args.batch as f64 / 256.0,
            None => 0.1,
        };
        let down = Schedule::Piecewise {
            from: self.args.rate.unwrap_or(rate),
            factors: [1.0, 2.0].map(|n| ((n * third).round(), 0.1)).to_vec(),
        };
        let sgd = Sgd::new(down.with_warmup((steps as f64 / 18.0).ceil()));
        optim::apply(&sgd.with_momentum(0.9).with_weight_decay(1e-4), &p, &p.gradients(loss));
        Ok(p.finish(&[("loss", loss)])?)
    }

    /// Returns the number of correct predictions.
    fn evaluation(&self) -> Result<StepProgram> {
        let g = Graph::new("evaluate", &self.options.mesh()?);
        let p = self.options.scope(&g);
        let (images, labels) = self.inputs(&g);
        let guesses = self.logits(&p, images, false).argmax(-1);
        Ok(p.finish(&[("right", guesses.eq(labels).to(F32).sum(..))])?)
    }
}

/// Returns a batch for the devices; images are decoded on all cores.
fn arrays(
    folder: &ImageFolder,
    examples: &[u64],
    side: u32,
    cut: impl Fn(u64) -> Cut + Sync,
) -> Result<(HostArray, HostArray)> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let read = |part: &[u64]| -> Result<Vec<u8>> {
        let images = part.iter().map(|&i| Ok(folder.example(i as usize, side, cut(i))?));
        Ok(images.collect::<Result<Vec<_>>>()?.concat())
    };
    let pixels = thread::scope(|scope| {
        let parts = examples.chunks(examples.len().div_ceil(cores).max(1));
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| read(part))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().ok().context("reading an image failed")?)
            .collect::<Result<Vec<_>>>()
    })?;
    let labels: Vec<i32> = examples.iter().map(|&i| folder.examples[i as usize].1 as i32).collect();
    let side = side as usize;
    Ok((
        HostArray::from_slice(&pixels.concat(), &[examples.len(), side, side, 3])?,
        HostArray::from_slice(&labels, &[examples.len()])?,
    ))
}
