//! Trains a small Llama on two nodes of four devices each. Each node has a replica of the model, sharded over its devices (HYBRID_SHARD).
//! Only shards of gradients are all-reduced between nodes.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin hybrid_shard
//! cargo run --release -p shardc-examples --bin hybrid_shard -- --fsdp hybrid_shard_zero2
//! ```

use anyhow::Result;
use clap::Parser;
use shardc_examples::harness::Options;
use shardc_examples::writing::{self, Writing};

#[derive(Parser)]
#[command(about = "Trains a small Llama on two nodes, each with a sharded replica")]
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
    writing::learn_by_strategy(&args.options.or("node=2,fsdp=4", "hybrid_shard"), &args.writing, args.layers)
}
