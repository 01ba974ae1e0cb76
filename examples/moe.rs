//! Trains a character-level mixture of experts on Shakespeare's sonnets on 4 x 2 devices, then samples text. The batch and the experts
//! are sharded over "data", so devices exchange tokens along this axis.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin moe
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::{DType::F32, Graph, Mesh, PartitionSpec, Tensor, spec};
use shardc_examples::harness::Options;
use shardc_examples::writing::{self, Writing};
use shardc_train::nn::layers::{Attention, Dense, Embed, Moe, RmsNorm, Rope};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{Scope, StepProgram, Variable};

#[derive(Parser)]
#[command(
    about = "Trains a mixture of experts on Shakespeare's sonnets, on 4 x 2 devices, and generates text"
)]
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

/// The model: two layers with attention and eight experts; each token is routed to two experts. Returns the logits and the load-balancing
/// loss.
fn model<'g>(p: &Scope<'g>, tokens: Tensor<'g>) -> (Tensor<'g>, Tensor<'g>) {
    let attention = Attention::new(4).causal().use_bias(false).rope(Rope::default());
    let experts = Moe::new(8, 2, 64).capacity_factor(2.0).expert_axis("data");
    let x = Embed::new(writing::vocab_size(), 64).apply(&p.at("embed"), tokens);
    let even = p.graph().scalar(0.0, F32);
    let (x, uneven) = p.stack("h", 2, (x, even), |p, (x, uneven)| {
        let x = x + attention.apply(&p.at("attn"), RmsNorm::new().apply(&p.at("ln_1"), x));
        let (y, balance) = experts.apply(&p.at("moe"), RmsNorm::new().apply(&p.at("ln_2"), x));
        (x + y, uneven + balance)
    });
    let x = RmsNorm::new().apply(&p.at("ln_f"), x);
    (Dense::new(writing::vocab_size()).use_bias(false).apply(&p.at("head"), x), uneven)
}

/// The shardings of variables. The expert dimension, which follows the layer dimension, is sharded over "data"; hidden features and heads
/// are sharded over "model".
fn split(variable: &Variable) -> Option<PartitionSpec> {
    let name = variable.name.as_str();
    Some(match name {
        "h.moe.gate" | "h.moe.up" => spec![None, "data", None, "model"],
        "h.moe.down" => spec![None, "data", "model", None],
        "h.attn.query.kernel" | "h.attn.key.kernel" | "h.attn.value.kernel" => {
            spec![None, None, "model", None]
        }
        "h.attn.out.kernel" => spec![None, "model", None, None],
        "head.kernel" => spec![None, "model"],
        "embed.embedding" => spec!["model", None],
        _ => return None,
    })
}

fn training_step(mesh: &Mesh, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let (tokens, next) = writing::passages(&g);
    let (logits, uneven) = model(&p, tokens);
    let loss = CrossEntropy::new().mean(logits, next);
    let gradients = clip_by_global_norm(&p.gradients(loss + 0.01 * uneven), 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 5e-3, warmup: 20.0, steps: steps as f64, to: 5e-4 };
    optim::apply(&AdamW::new(rate), &p, &gradients);
    p.mark_sharding(split);
    Ok(p.finish(&[("loss", loss), ("uneven", uneven)])?)
}

fn sampling(mesh: &Mesh) -> Result<StepProgram> {
    let g = Graph::new("next", mesh);
    let p = Scope::new(&g);
    let drawn = writing::drawn(&g, |tokens| model(&p, tokens).0);
    p.mark_sharding(split);
    Ok(p.finish(&[("drawn", drawn)])?)
}
