//! QLoRA on Llama-2-70B: frozen weights in four bits with double quantisation, packed in bf16; which TPU slice is the smallest that a
//! step of PEFT's guide fits, and what a device of it holds.
//! Nothing is trained: no device is needed, only the TPU compiler (`shardc plugin install tpu`).
//!
//! ```text
//! cargo run --release -p shardc-examples --bin qlora_70b
//! cargo run --release -p shardc-examples --bin qlora_70b -- --generation v5e --offload
//! ```

use anyhow::Result;
use clap::Parser;
use shardc::graph::DType;
use shardc::nn::Nf4;
use shardc_examples::ahead::{self, Ahead};
use shardc_examples::llama70b::{self, Batch};

#[derive(Parser)]
#[command(about = "QLoRA on Llama-2-70B, compiled for the smallest TPU slice that it fits")]
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
