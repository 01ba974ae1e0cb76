//! Trains a character-level LSTM on Shakespeare's sonnets on 4 x 2 devices, then samples text. The batch is sharded over "data", and
//! the recurrent state is sharded over "model".
//!
//! ```text
//! cargo run --release -p shardc-examples --bin lstm
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::{Graph, Mesh, PartitionSpec, Tensor, spec};
use shardc_examples::harness::Options;
use shardc_examples::writing::{self, Writing};
use shardc_train::nn::layers::{Dense, Embed, Lstm};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{Scope, StepProgram, Variable};

#[derive(Parser)]
#[command(about = "Trains an LSTM on Shakespeare's sonnets, on 4 x 2 devices, and generates text")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    writing: Writing,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mesh = args.options.mesh()?;
    let (training, sampling) = (|steps| training_step(&mesh, steps), || sampling(&mesh));
    writing::learn_to_write(&args.options, &args.writing, training, sampling)
}

/// The model: a character embedding, one recurrent layer, and logits of the next character.
fn model<'g>(p: &Scope<'g>, tokens: Tensor<'g>) -> Tensor<'g> {
    let x = Embed::new(writing::vocab_size(), 64).apply(&p.at("embed"), tokens);
    let x = Lstm::new(128).apply(&p.at("cell"), x);
    Dense::new(writing::vocab_size()).apply(&p.at("head"), x)
}

/// The shardings of variables. The recurrent state is sharded over "model". Each shard of the gates depends on the entire state, which is
/// all-gathered at each time step.
fn split(variable: &Variable) -> Option<PartitionSpec> {
    let name = variable.name.as_str();
    Some(match name.strip_prefix("cell.") {
        Some(rest) if rest.ends_with("kernel") => spec![None, "model"],
        Some(_) => spec!["model"],
        None if name == "head.kernel" => spec![None, "model"],
        None if name == "head.bias" => spec!["model"],
        None if name == "embed.embedding" => spec!["model", None],
        None => return None,
    })
}

fn training_step(mesh: &Mesh, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (tokens, next) = writing::passages(&g);
    let loss = CrossEntropy::new().mean(model(&p, tokens), next);
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 1e-2, warmup: 20.0, steps: steps as f64, to: 1e-3 };
    optim::apply(&AdamW::new(rate), &p, &gradients);
    p.mark_sharding(split);
    Ok(p.finish(&[("loss", loss)])?)
}

fn sampling(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("next", mesh);
    let p = Scope::new(&g);
    let drawn = writing::drawn(&g, |tokens| model(&p, tokens));
    p.mark_sharding(split);
    Ok(p.finish(&[("drawn", drawn)])?)
}
