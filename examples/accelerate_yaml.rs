//! Trains from unchanged `accelerate config` files. One is from Accelerate's FSDP guide: a BERT with one FSDP unit per layer, offloading
//! and `bf16`. Two are from PEFT's guide: LoRA, and QLoRA with offloading. Keys without effect are reported.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin accelerate_yaml
//! cargo run --release -p shardc-examples --bin accelerate_yaml -- --config my.yaml --trained lora
//! ```
//!
//! On TPUs, offloaded arrays are in host memory; CPU devices have only one memory.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use shardc::graph::{DType, Graph, Keep};
use shardc::strategy::Accelerate;
use shardc_examples::adapting::{self, Adapting};
use shardc_examples::harness::Options;
use shardc_examples::training::{self, Finished};
use shardc_examples::writing::{self, BATCH, CONTEXT, TOKENS};
use shardc_train::data::text::Characters;
use shardc_train::nn::layers::Dense;
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Bert;
use shardc_train::nn::optim::{self, AdamW, clip_by_global_norm};
use shardc_train::nn::{Nf4, StepProgram};

/// The configuration files of the guides.
const FILES: [(&str, Trained, &str); 3] = [
    ("accelerate_bert.yaml", Trained::Bert, include_str!("data/accelerate_bert.yaml")),
    ("peft_lora.yaml", Trained::Lora, include_str!("data/peft_lora.yaml")),
    ("peft_qlora.yaml", Trained::Qlora, include_str!("data/peft_qlora.yaml")),
];

/// The model that is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trained {
    /// A small BERT that predicts masked characters
    Bert,
    /// Adapters of a small Llama
    Lora,
    /// Adapters of a small Llama quantized to four bits
    Qlora,
}

#[derive(Parser)]
#[command(about = "Trains by files of `accelerate config`")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// The model to train, with the file of --config or otherwise the guide's file; all models if not given
    #[arg(long)]
    trained: Option<Trained>,
    #[command(flatten)]
    adapting: Adapting,
}

#[expect(clippy::print_stdout, reason = "an example shows its results")]
fn main() -> Result<()> {
    let args = Args::parse();
    if args.options.config.is_some() {
        return train(&args.options, &args.adapting, args.trained.unwrap_or(Trained::Bert));
    }
    for (name, trained, text) in
        FILES.iter().filter(|(_, trained, _)| args.trained.is_none_or(|wanted| wanted == *trained))
    {
        println!("{name}");
        let config = Accelerate::parse(text).map_err(shardc::Error::Diagnostics)?;
        let options = Options { config: Some(config), ..args.options.clone() };
        train(&options, &args.adapting, *trained)?;
    }
    Ok(())
}

fn train(options: &Options, args: &Adapting, trained: Trained) -> Result<()> {
    match trained {
        Trained::Bert => bert(options, args),
        Trained::Lora => adapting::learn(options, args, None),
        Trained::Qlora => adapting::learn(options, args, Some(Nf4 { double: true, storage: DType::BF16 })),
    }
}

/// Trains a small BERT to predict masked characters.
#[expect(clippy::print_stdout, reason = "an example shows its results")]
fn bert(options: &Options, args: &Adapting) -> Result<()> {
    let tokens = Characters::of(writing::TEXT).encode(writing::TEXT);
    let client = options.client()?;
    let steps = options.limited(args.train);
    let step = options.compile(&client, bert_step(options, args.layers)?)?;
    let source = writing::batches(tokens, options.seed);
    if let Some(Finished { loss, .. }) = training::train(options, &step, steps, TOKENS, source)? {
        println!("loss {loss:.4} per masked character");
    }
    Ok(())
}

fn bert_step(options: &Options, layers: i64) -> Result<StepProgram> {
    let g = Graph::new("train", &options.mesh()?);
    let p = options.scope(&g).checkpointed(Keep::Nothing);
    let (tokens, _) = writing::passages(&g);
    // Every seventh character is masked, at an offset that differs between passages.
    let (rows, columns) = (g.arange(BATCH as i64, DType::I32), g.arange(CONTEXT, DType::I32));
    let is_covered = ((rows.expand_dims(1) * 3 + columns.expand_dims(0)) % 7).eq(0);
    let cover = writing::vocab_size();
    let seen = is_covered.select(cover, tokens);
    let types = g.full([BATCH as i64, CONTEXT], 0.0, DType::I32);
    let x = Bert::new(cover + 1, CONTEXT, 96, layers, 4).apply(&p, seen, types);
    let logits = Dense::new(writing::vocab_size()).apply(&p.at("head"), x);
    let loss = CrossEntropy::new().ignore(-1).mean(logits, is_covered.select(tokens, -1));
    let gradients = clip_by_global_norm(&p.gradients(loss), 1.0);
    optim::apply(&AdamW::new(3e-3), &p, &gradients);
    Ok(p.finish(&[("loss", loss)])?)
}
