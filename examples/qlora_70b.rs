//! QLoRA on Llama-2-70B: the frozen weights have four bits, with double quantization, packed in bf16. Finds the smallest TPU slice that
//! fits the training step of PEFT's guide, and prints the memory that each device needs. Nothing is trained: the example needs no device,
//! only the TPU compiler (`shardc plugin install tpu`).
//!
//! ```text
//! cargo run --release -p shardc-examples --bin qlora_70b
//! cargo run --release -p shardc-examples --bin qlora_70b -- --generation v5e --offload
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::DType;
use shardc_examples::ahead::{self, Ahead};
use shardc_examples::llama70b::{self, Batch};
use shardc_train::nn::Nf4;

#[derive(Parser)]
#[command(about = "QLoRA on Llama-2-70B, compiled for the smallest TPU slice in which it fits")]
struct Args {
    #[command(flatten)]
    ahead: Ahead,
    #[command(flatten)]
    batch: Batch,
}

fn main() -> Result<()> {
    ahead::serve();
    let args = Args::parse();
    ahead::smallest_slice(&args.ahead, |mesh| {
        let nf4 = Nf4 { double: true, storage: DType::BF16 };
        llama70b::step(mesh, args.batch, DType::BF16, Some(nf4))
    })
}
