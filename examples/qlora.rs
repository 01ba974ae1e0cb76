//! Trains adapters on a frozen model quantized to four bits (QLoRA), with all state sharded over eight devices (FSDP). Saves the adapters
//! in PEFT's format and loads them again. All-gathers of weights send four-bit values.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin qlora
//! cargo run --release -p shardc-examples --bin qlora -- --save adapters
//! ```
//!
//! `qlora_70b` compiles the same step for Llama-2-70B.

use anyhow::Result;
use clap::Parser;
use shardc::graph::DType;
use shardc_examples::adapting::{self, Adapting};
use shardc_examples::harness::Options;
use shardc_train::nn::Nf4;

#[derive(Parser)]
#[command(about = "Trains LoRA adapters of a frozen 4-bit model, saves them and loads them again")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    adapting: Adapting,
}

fn main() -> Result<()> {
    let args = Args::parse();
    adapting::learn(
        &args.options.or("fsdp=8", "full_shard"),
        &args.adapting,
        Some(Nf4 { double: true, storage: DType::BF16 }),
    )
}
