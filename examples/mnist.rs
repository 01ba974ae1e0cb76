//! Learns to read digits with two convolutions, on 4 x 2 devices: each row has its part of the batch, each column its part of the
//! wide layer.
//!
//! ```text
//! cargo run --release -p shardc-examples --bin mnist
//! ```
//!
//! Digits are drawn (`examples/src/digits.rs`), so that nothing has to be fetched; `--files DIR` reads MNIST's own files instead:
//! `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, and `t10k-...`, packed (`.gz`) or not.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use shardc::data::Batches;
use shardc::data::idx::Idx;
use shardc::graph::{Conv, DType::F32, DType::I32, Graph, Mesh, Padding, Tensor, spec};
use shardc::nn::{Init, Scope, StepProgram};
use shardc::train::{HostArray, State, Step};
use shardc_examples::digits;
use shardc_examples::harness::Options;

/// Examples in a batch, on all devices together.
const BATCH: usize = 64;

#[derive(Parser)]
#[command(about = "Learns to read digits with two convolutions, on 4 x 2 devices")]
struct Args {
    #[command(flatten)]
    options: Options,
    /// Where MNIST's own files are; drawn digits if not given
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Drawn digits to learn from
    #[arg(long, default_value_t = 8192)]
    examples: usize,
    /// How often all of them are seen
    #[arg(long, default_value_t = 2)]
    epochs: u64,
}
