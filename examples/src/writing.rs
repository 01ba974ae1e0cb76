//! Code shared by the examples that generate text: Shakespeare's sonnets, training loop and sampling.

use std::ops::Range;

use anyhow::{Context, Result};
use clap::Args;
use shardc::graph::{
    DType::{I32, UI32},
    Graph, Keep, Key, Tensor,
};
use shardc_train::data::Shuffle;
use shardc_train::data::text::Characters;
use shardc_train::loader::{Callback, Source};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Decoder;
use shardc_train::nn::optim::{self, AdamW, Schedule, clip_by_global_norm};
use shardc_train::nn::{StepProgram, sample};
use shardc_train::{HostArray, State, Step};

use crate::harness::{Options, batch as batch_of};
use crate::training::{self, Finished};

/// The sonnets.
pub const TEXT: &str = include_str!("../data/sonnets.txt");

/// Global batch size, in passages.
pub const BATCH: usize = 16;

/// Context length in characters.
pub const CONTEXT: i64 = 64;

/// Characters in a batch.
pub const TOKENS: u64 = BATCH as u64 * CONTEXT as u64;

/// Passages that are sampled in parallel.
const SAMPLES: usize = 4;

/// How long to train, and how much text to generate.
#[derive(Args, Debug)]
pub struct Writing {
    /// Steps of training
    #[arg(long, default_value_t = 500)]
    pub train: u64,
    /// Characters to write after training; 0 writes nothing
    #[arg(long, default_value_t = 160)]
    pub write: usize,
}

/// The size of the vocabulary, padded to a multiple of eight for sharding.
#[must_use]
pub fn vocab_size() -> i64 {
    Characters::of(TEXT).len().next_multiple_of(8) as i64
}

/// Parameters of a graph for training: passages and the next character of each position, both `[BATCH, CONTEXT]`, sharded over "data".
#[must_use]
pub fn passages(g: &Graph) -> (Tensor<'_>, Tensor<'_>) {
    let shape = [BATCH as i64, CONTEXT + 1];
    let tokens = batch_of(g.parameter("tokens", shape, I32));
    (tokens.slice(1, ..-1), tokens.slice(1, 1..))
}

/// Finishes a graph that samples the next character of each passage from the logits.
#[must_use]
pub fn drawn<'g>(g: &'g Graph, logits: impl FnOnce(Tensor<'g>) -> Tensor<'g>) -> Tensor<'g> {
    let tokens = batch_of(g.parameter("tokens", [SAMPLES as i64, CONTEXT], I32));
    let last = g.parameter("last", (), I32);
    let key = Key::from_tensor(g.parameter("key", [2], UI32));
    let logits = logits(tokens).dynamic_index(1, last) / 0.8;
    key.categorical(sample::top_p(logits, 0.9), -1)
}

/// Trains with the step that `make` builds for a number of steps, then samples with the step `sampling`, which has the result `drawn`.
///
/// # Errors
/// A program does not compile or run.
#[expect(clippy::print_stdout, reason = "an example shows its results")]
pub fn learn_to_write(
    options: &Options,
    args: &Writing,
    make: impl FnOnce(u64) -> Result<StepProgram>,
    sampling: impl FnOnce() -> Result<StepProgram>,
) -> Result<()> {
    let characters = Characters::of(TEXT);
    let tokens = characters.encode(TEXT);
    let client = options.client()?;
    let steps = options.limited(args.train);
    let train = options.compile(&client, make(args.train)?)?;
    let source = batches(tokens, options.seed);
    let Some(Finished { state, loss: last }) = training::train(options, &train, steps, TOKENS, source)?
    else {
        return Ok(());
    };
    println!("loss {last:.3} per character; random guessing has {:.3}", (characters.len() as f64).ln());
    if args.write == 0 {
        return Ok(());
    }
    let next = options.compile(&client, sampling()?)?;
    println!("{}", write(&next, &mut next.adopt(&state)?, &characters, args.write)?);
    Ok(())
}

/// Trains a small Llama without annotations, with each layer rematerialized, then samples text.
///
/// # Errors
/// The strategy does not fit the mesh, or a program does not compile or run.
pub fn learn_by_strategy(options: &Options, args: &Writing, layers: i64) -> Result<()> {
    let (mesh, llama) = (options.mesh()?, Decoder::llama(vocab_size(), 96, 256, layers, 4, 2));
    let training = |steps: u64| {
        let g = Graph::new("train", &mesh);
        let p = options.scope(&g).checkpointed(Keep::Nothing);
        let (tokens, next) = passages(&g);
        let loss = CrossEntropy::new().mean(llama.apply(&p, tokens, None), next);
        let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
        let rate =
            Schedule::WarmupCosine { from: 0.0, peak: 3e-3, warmup: 20.0, steps: steps as f64, to: 3e-4 };
        optim::apply(&AdamW::new(rate).with_weight_decay(0.01), &p, &gradients);
        Ok(p.finish(&[("loss", loss)])?)
    };
    let sampling = || {
        let g = Graph::new("next", &mesh);
        let p = options.scope(&g);
        let drawn = drawn(&g, |tokens| llama.apply(&p, tokens, None));
        Ok(p.finish(&[("drawn", drawn)])?)
    };
    learn_to_write(options, args, training, sampling)
}

/// Training batches of passages at random positions.
pub fn batches(tokens: Vec<i32>, seed: u64) -> impl Source {
    Callback::new(&["tokens"], move |batch, rows| Ok(vec![passages_of(&tokens, seed, batch, rows)?]))
}

/// Passages, each with the character after it, as an array `[BATCH, CONTEXT + 1]`. Their positions depend on seed and step.
///
/// # Errors
/// The text is shorter than a passage.
pub fn batch(tokens: &[i32], seed: u64, step: u64) -> Result<HostArray> {
    passages_of(tokens, seed, step, 0..BATCH)
}

/// Some rows of a batch.
fn passages_of(tokens: &[i32], seed: u64, step: u64, rows: Range<usize>) -> Result<HostArray> {
    let length = CONTEXT as usize + 1;
    let places = Shuffle::new((tokens.len() - length) as u64, seed);
    let at = |i: usize| places.at(step, i as u64) as usize;
    let count = rows.len();
    let batch: Vec<i32> = rows.flat_map(|i| tokens[at(i)..at(i) + length].to_vec()).collect();
    Ok(HostArray::from_slice(&batch, &[count, length])?)
}

/// Samples passages that continue "When I ".
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
