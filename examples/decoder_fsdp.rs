//! Trains a small Llama on Shakespeare's sonnets with all state sharded over eight devices (FSDP, ZeRO-3). No sharding is annotated. Each
//! layer of the stack is all-gathered where it is used, and recomputed in the backward pass.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin decoder_fsdp
//! cargo run --release -p shardc-examples --bin decoder_fsdp -- --fsdp shard_grad_op
//! ```

use anyhow::Result;
use clap::Parser;
use shardc_examples::harness::Options;
use shardc_examples::writing::{self, Writing};

#[derive(Parser)]
#[command(about = "Trains a small Llama, with all state sharded over eight devices")]
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
    writing::learn_by_strategy(&args.options.or("fsdp=8", "full_shard"), &args.writing, args.layers)
}
