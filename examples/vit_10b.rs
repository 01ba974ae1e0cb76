//! A vision transformer of ten billion parameters: finds the smallest TPU slice that fits a training step with all state sharded, and
//! prints the memory that each device needs. Nothing is trained: the example needs no device, only the TPU compiler (`shardc plugin
//! install tpu`).
//!
//! ```text
//! cargo run --release -p shardc-examples --bin vit_10b
//! cargo run --release -p shardc-examples --bin vit_10b -- --generation v5e --offload
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType, Graph, Keep, Mesh};
use shardc_examples::ahead::{self, Ahead};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Vit;
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{Policy, Scope, StepProgram};

/// Height and width of an image in pixels.
const SIDE: i64 = 224;

/// Images per device.
const IMAGES: i64 = 8;

#[derive(Parser)]
#[command(
    about = "A vision transformer of ten billion parameters, compiled for the smallest TPU slice in which it fits"
)]
struct Args {
    #[command(flatten)]
    ahead: Ahead,
}

fn main() -> Result<()> {
    ahead::serve();
    ahead::smallest_slice(&Args::parse().ahead, step)
}

/// A training step: 32 layers of 5120 features, each an FSDP unit that is recomputed in the backward pass; AdamW with gradient clipping.
/// Parameters are stored in `f32`; computations are in `bf16`.
fn step(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g).with_policy(Policy::mixed_bf16()).checkpointed(Keep::Nothing);
    let batch = IMAGES * mesh.num_devices() as i64;
    let images = g.parameter("images", [batch, SIDE, SIDE, 3], DType::F32).to(DType::BF16);
    let labels = g.parameter("labels", [batch], DType::I32);
    let logits = Vit::new(14, 5120, 32, 32, 1000).apply(&p, images);
    let loss = CrossEntropy::new().mean(logits, labels);
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 1e-3, warmup: 10_000.0, steps: 300_000.0, to: 0.0 };
    optim::apply(&AdamW::new(rate).with_weight_decay(0.1), &p, &gradients);
    Ok(p.finish(&[("loss", loss)])?)
}
