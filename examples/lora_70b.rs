//! LoRA on Llama-2-70B: finds the smallest TPU slice that fits the training step of PEFT's guide, and prints the memory that each device
//! needs. Nothing is trained: the example needs no device, only the TPU compiler (`shardc plugin install tpu`).
//!
//! ```text
//! cargo run --release -p shardc-examples --bin lora_70b
//! cargo run --release -p shardc-examples --bin lora_70b -- --generation v5e --offload
//! ```
//!
//! The following command uses the guide's configuration, for which the guide reports 72 to 80 GB on each of 8 devices:
//!
//! ```text
//! cargo run --release -p shardc-examples --bin lora_70b -- --devices 8 --sequences 8 --parts 4 --f32
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::DType;
use shardc_examples::ahead::{self, Ahead};
use shardc_examples::llama70b::{self, Batch};

#[derive(Parser)]
#[command(about = "LoRA on Llama-2-70B, compiled for the smallest TPU slice in which it fits")]
struct Args {
    #[command(flatten)]
    ahead: Ahead,
    #[command(flatten)]
    batch: Batch,
    /// Store parameters in f32 instead of bf16 and cast them to bf16 at each use, as the guide's script does
    #[arg(long)]
    f32: bool,
}

fn main() -> Result<()> {
    ahead::serve();
    let args = Args::parse();
    let params = if args.f32 { DType::F32 } else { DType::BF16 };
    ahead::smallest_slice(&args.ahead, |mesh| llama70b::step(mesh, args.batch, params, None))
}
