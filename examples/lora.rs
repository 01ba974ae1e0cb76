//! Trains LoRA adapters on a frozen model, with all state sharded over eight devices (FSDP). Saves the adapters in PEFT's format and
//! loads them again.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin lora
//! cargo run --release -p shardc-examples --bin lora -- --save adapters
//! ```
//!
//! `lora_70b` compiles the same step for Llama-2-70B.

use anyhow::Result;
use clap::Parser;
use shardc_examples::adapting::{self, Adapting};
use shardc_examples::harness::Options;

#[derive(Parser)]
#[command(about = "Trains LoRA adapters of a frozen model, saves them and loads them again")]
struct Args {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    adapting: Adapting,
}

fn main() -> Result<()> {
    let args = Args::parse();
    adapting::learn(&args.options.or("fsdp=8", "full_shard"), &args.adapting, None)
}
