//! Trains adapters of low rank beside a frozen model in four bits (QLoRA), all of it in parts on eight devices (FSDP), saves them as PEFT
//! does, and loads them again. The gathers move four bits.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin qlora
//! cargo run --release -p shardc-examples --bin qlora -- --save adapters
//! ```
//!
//! `qlora_70b` compiles the same step of Llama-2-70B.

use anyhow::Result;
use clap::Parser;
use shardc::graph::DType;
use shardc::nn::Nf4;
use shardc_examples::adapting::{self, Adapting};
use shardc_examples::harness::Options;

#[derive(Parser)]
#[command(about = "Trains adapters beside a frozen model, saves them and loads them again")]
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
