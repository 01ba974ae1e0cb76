//! Trains a small GPT on Shakespeare's sonnets, character by character, on 4 x 2 devices, and lets it write some. Each row of
//! devices has its part of the batch; heads, hidden features and the vocabulary are split over each row.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin decoder
//! ```

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use anyhow::{Context, Result};
use clap::Parser;
use shardc::data::Shuffle;
use shardc::data::text::Characters;
use shardc::graph::{
    DType::{I32, UI32},
    Graph, Key, Mesh, spec,
};
use shardc::nn::loss::CrossEntropy;
use shardc::nn::models::Decoder;
use shardc::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc::nn::{Scope, StepProgram};
use shardc::train::{HostArray, State, Step};
use shardc_examples::harness::Options;

const TEXT: &str = include_str!("data/sonnets.txt");

/// Passages in a batch, on all devices together.
const BATCH: usize = 16;

/// Characters that the model sees.
const CONTEXT: i64 = 64;

/// Passages that are written side by side.
const SAMPLES: usize = 4;

#[derive(Parser)]
#[command(about = "Trains a small GPT on Shakespeare's sonnets, on 4 x 2 devices, and lets it write some")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// Steps of training
    #[arg(long, default_value_t = 500)]
    train: u64,
    /// Characters to write
    #[arg(long, default_value_t = 160)]
    write: usize,
    /// Layers
    #[arg(long, default_value_t = 3)]
    layers: i64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let characters = Characters::of(TEXT);
    let tokens = characters.encode(TEXT);
    let gpt = Decoder::gpt2(characters.len().next_multiple_of(8) as i64, CONTEXT, 96, args.layers, 4);
    let client = args.options.client()?;
    let mesh = args.options.mesh()?;
    let steps = args.options.limited(args.train);
    let train = args.options.compile(&client, training_step(&mesh, &gpt, args.train)?)?;
    let mut state = train.init(args.options.seed)?;
    let mut progress = args.options.progress(steps);
    for step in 0..steps {
        let batch = passages(&tokens, args.options.seed, step)?;
        let metrics = train.run(&mut state, &[("tokens", &batch)])?;
        progress.step(metrics.scalar("loss")?, (BATCH as i64 * CONTEXT) as u64);
    }
    let last = progress.finish();
    println!("loss {last:.3} a character, from {:.3} for guessing", (characters.len() as f64).ln());
    let next = args.options.compile(&client, sampling(&mesh, &gpt)?)?;
    let mut weights = next.adopt(&state)?;
    println!("{}", write(&next, &mut weights, &characters, args.write)?);
    Ok(())
}

/// Passages with the character behind them, `[BATCH, context + 1]`, from places that follow from seed and step.
fn passages(tokens: &[i32], seed: u64, step: u64) -> Result<HostArray> {
    let length = CONTEXT as usize + 1;
    let places = Shuffle::new((tokens.len() - length) as u64, seed);
    let at = |i: usize| places.at(step, i as u64) as usize;
    let batch: Vec<i32> = (0..BATCH).flat_map(|i| tokens[at(i)..at(i) + length].to_vec()).collect();
    Ok(HostArray::from_slice(&batch, &[BATCH, length])?)
}

fn training_step(mesh: &Mesh, gpt: &Decoder, steps: u64) -> Result<StepProgram> {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g);
    let tokens = g.parameter("tokens", [BATCH as i64, CONTEXT + 1], I32).mark_sharding(spec!["data", None]);
    let logits = gpt.apply(&p, tokens.slice(1, ..-1), None);
    let loss = CrossEntropy::new().mean(logits, tokens.slice(1, 1..));
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    let rate = Schedule::WarmupCosine { from: 0.0, peak: 3e-3, warmup: 20.0, steps: steps as f64, to: 3e-4 };
    optim::apply(&AdamW::new(rate).with_weight_decay(0.01), &p, &gradients);
    p.mark_sharding(|variable| Decoder::megatron(variable, "model"));
    Ok(p.finish(&[("loss", loss)])?)
}

/// The next character of each passage, drawn as likely as the model holds it to be.
fn sampling(mesh: &Mesh, gpt: &Decoder) -> Result<StepProgram> {
    let g = Graph::new("next", mesh);
    let p = Scope::new(&g);
    let tokens = g.parameter("tokens", [SAMPLES as i64, CONTEXT], I32).mark_sharding(spec!["data", None]);
    let last = g.parameter("last", (), I32);
    let key = Key::from_tensor(g.parameter("key", [2], UI32));
    let logits = gpt.apply(&p, tokens, None).dynamic_index(1, last);
    let drawn = key.categorical(logits / 0.7, -1);
    p.mark_sharding(|variable| Decoder::megatron(variable, "model"));
    Ok(p.finish(&[("drawn", drawn)])?)
}

/// Passages that the model writes behind "When I ".
fn write(step: &Step, state: &mut State, characters: &Characters, count: usize) -> Result<String> {
    let context = CONTEXT as usize;
    let mut passages = vec![characters.encode("When I "); SAMPLES];
    for i in 0..count {
        let length = passages[0].len();
        let (from, last) = (length.saturating_sub(context), length.min(context) - 1);
        let mut window = Vec::with_capacity(SAMPLES * context);
        for passage in &passages {
            window.extend_from_slice(&passage[from..]);
            window.resize(window.len().next_multiple_of(context), 0);
        }
        let tokens = HostArray::from_slice(&window, &[SAMPLES, context])?;
        let (last, key) =
            (HostArray::from_slice(&[last as i32], &[])?, HostArray::from_slice(&[7, i as u32], &[2])?);
        let metrics = step.run(state, &[("tokens", &tokens), ("last", &last), ("key", &key)])?;
        let drawn: Vec<i32> = metrics.get("drawn")?.to_vec().context("characters are numbers")?;
        passages.iter_mut().zip(drawn).for_each(|(passage, token)| passage.push(token));
    }
    let written: Vec<String> = passages.iter().map(|passage| characters.decode(passage)).collect();
    Ok(written.join("\n----\n"))
}
