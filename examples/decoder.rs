//! Trains a small character-level GPT on Shakespeare's sonnets on 4 x 2 devices, then samples text. The batch is sharded over "data";
//! heads, hidden features and the vocabulary are sharded over "model".
//!
//! ```text
//! cargo run --release -p shardc-examples --bin decoder
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::{Graph, Mesh};
use shardc_examples::harness::Options;
use shardc_examples::writing::{self, CONTEXT, Writing};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::{Decoder, megatron};
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{Scope, StepProgram};

#[derive(Parser)]
#[command(about = "Trains a small GPT on Shakespeare's sonnets, on 4 x 2 devices, and generates text")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    writing: Writing,
    /// Layers
    #[arg(long, default_value_t = 3)]
    layers: i64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mesh = args.options.mesh()?;
    let gpt = Decoder::gpt2(writing::vocab_size(), CONTEXT, 96, args.layers, 4);
    let (training, sampling) = (|steps| training_step(&mesh, &gpt, steps), || sampling(&mesh, &gpt));
    writing::learn_to_write(&args.options, &args.writing, training, sampling)
}

fn training_step(mesh: &Mesh, gpt: &Decoder, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (tokens, next) = writing::passages(&g);
    let loss = CrossEntropy::new().mean(gpt.apply(&p, tokens, None), next);
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 3e-3, warmup: 20.0, steps: steps as f64, to: 3e-4 };
    optim::apply(&AdamW::new(rate).with_weight_decay(0.01), &p, &gradients);
    p.mark_sharding(|variable| megatron(variable, "model"));
    Ok(p.finish(&[("loss", loss)])?)
}

fn sampling(mesh: &Mesh, gpt: &Decoder) -> Result<StepProgram> {
    let g = Graph::new("next", mesh);
    let p = Scope::new(&g);
    let drawn = writing::drawn(&g, |tokens| gpt.apply(&p, tokens, None));
    p.mark_sharding(|variable| megatron(variable, "model"));
    Ok(p.finish(&[("drawn", drawn)])?)
}
