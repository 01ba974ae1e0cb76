//! `cargo xtask bench`: shardc compared with its peers on the same file.
//!
//! shardc and its peer run in turns on one machine, so that other load affects both. Ratios are therefore more reliable than times.

mod auto;
mod checkpoints;
mod corpus;
mod devices;
mod generate;
mod grad;
mod graph;
mod memory;
mod page;
mod partition;
mod programs;
mod propagate;
mod reshard;
mod scale;
mod shardy;
mod step;
mod text;
mod time;
mod tpu;
mod training;

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use xtask::{python, workspace::Workspace};

/// The comparisons to run, and their options.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Annotated programs to compare.
    files: Vec<PathBuf>,
    /// Run only this comparison.
    #[arg(long)]
    only: Option<Comparison>,
    /// Compile the partitions of shardc and of XLA for the same TPU slice, and compare bytes sent, memory and compute cycles. Files
    /// may be names of corpus programs; by default, programs too large to execute are compared. With --only grad, compare gradients
    /// of models, and training steps whose gradient is replaced by shardc's.
    #[arg(long)]
    tpu: bool,
    /// Write the table of --tpu, or of --only step, reshard, scale, devices, grad, memory, time, auto or checkpoints, to docs/results, and
    /// its summary to docs/QUALITY.md.
    #[arg(long)]
    update: bool,
    /// With --only memory, print the error of the memory estimate without each rule of the model.
    #[arg(long)]
    ablation: bool,
    /// The number of runs of each compared program.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// The Python with jax. Defaults to the active virtual environment, or else to a new one in `target/`.
    #[arg(long)]
    python: Option<PathBuf>,
}

impl BenchArgs {
    /// Whether the program `name` is measured: the command line names it, or the command line names no programs and `is_usual` holds.
    fn wants(&self, name: &str, is_usual: impl FnOnce() -> bool) -> bool {
        if self.files.is_empty() {
            is_usual()
        } else {
            self.files.iter().any(|file| file.as_os_str() == name)
        }
    }
}

/// The comparisons.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Comparison {
    /// Time to read, verify and print text, compared with MLIR.
    Text,
    /// Time of propagation, compared with Shardy; and its growth with the program and the mesh.
    Propagate,
    /// Time of propagation and partitioning, compared with Shardy's propagation.
    Partition,
    /// Time of training steps on virtual CPU devices, compared with XLA's own partition of the same program. Files may be names of
    /// corpus programs. Takes minutes, and only runs if named.
    Step,
    /// Growth of the time and memory of shardc's commands with the size of the program, up to a million operations. Takes minutes,
    /// and only runs if named.
    Scale,
    /// Bytes received in every reshard on small meshes, compared with the bytes that a device lacks, and with XLA. Only runs if
    /// named.
    Reshard,
    /// Time and peak memory of partitioning for 64 to 1,048,576 devices, not compared with another tool. Only runs if named.
    Devices,
    /// Costs of gradients by XLA's cost analysis, compared with JAX's gradients of the same functions; and the time to differentiate
    /// a large model. Files may be names of functions. Only runs if named.
    Grad,
    /// The estimated memory of a device, compared with that of the TPU compiler for the same program. With --tpu the programs are
    /// compiled again, which takes minutes. Files may be names of the programs. Only runs if named.
    Memory,
    /// The times of `shardc plan` for strategies of training steps, ranked as the TPU compiler's cycles and bytes are. With --tpu the
    /// programs are compiled again, which takes minutes. Files may be names of the programs. Only runs if named.
    Time,
    /// The answers of `shardc auto`, compared with hand-written strategies by the figures of the TPU compiler. With --tpu the searches run and
    /// the programs are compiled again, which takes minutes. Files may be names of the programs. Only runs if named.
    Auto,
    /// Time to save and restore a state of 4 GiB on the local disk, compared with plain files (with a warm and a cold page cache), a
    /// copy in memory, and Orbax. For Orbax, --python or SHARDC_PYTHON must name a Python with orbax-checkpoint. Needs 9 GB of disk
    /// and of memory, and an idle machine. Only runs if named.
    Checkpoints,
    /// The graph builder: time to build a graph of 100,000 operations, and the overhead of a step over executing its program. Only
    /// runs if named; times of a debug build are not meaningful.
    Graph,
}

/// The seconds that each compilation stage takes, by the name of the stage.
type Seconds = BTreeMap<String, f64>;

/// Runs the selected comparisons.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    let is_step = args.only == Some(Comparison::Step);
    let is_scale = args.only == Some(Comparison::Scale);
    let is_reshard = args.only == Some(Comparison::Reshard);
    let is_devices = args.only == Some(Comparison::Devices);
    let is_grad = args.only == Some(Comparison::Grad);
    let is_memory = args.only == Some(Comparison::Memory);
    let is_time = args.only == Some(Comparison::Time);
    let is_auto = args.only == Some(Comparison::Auto);
    let is_checkpoints = args.only == Some(Comparison::Checkpoints);
    ensure!(
        !args.tpu || is_grad || is_memory || is_time || is_auto || args.only.is_none(),
        "--tpu can be combined only with --only grad, memory, time or auto"
    );
    ensure!(
        !args.update
            || args.tpu
            || is_step
            || is_scale
            || is_reshard
            || is_devices
            || is_grad
            || is_memory
            || is_time
            || is_auto
            || is_checkpoints,
        "--update needs --tpu, or --only step, reshard, scale, devices, grad, memory, time, auto or checkpoints"
    );
    if is_checkpoints {
        return checkpoints::run(workspace, args);
    }
    if is_memory {
        return memory::run(workspace, args);
    }
    if is_time {
        return time::run(workspace, args);
    }
    if is_auto {
        return auto::run(workspace, args);
    }
    if args.tpu && is_grad {
        return grad::run_tpu(workspace, args);
    }
    if args.tpu {
        return tpu::run(workspace, args);
    }
    if is_step {
        return step::run(workspace, args);
    }
    if is_scale {
        return scale::run(workspace, args);
    }
    if is_reshard {
        return reshard::run(workspace, args);
    }
    if is_devices {
        return devices::run(workspace, args);
    }
    if is_grad {
        return grad::run(workspace, args);
    }
    if args.only == Some(Comparison::Graph) {
        return graph::run(args);
    }
    let python = python::with_jax(args.python.as_deref())?;
    let wanted = |comparison| args.only.is_none_or(|only| only == comparison);
    if wanted(Comparison::Text) {
        text::run(workspace, args, &python)?;
    }
    if wanted(Comparison::Propagate) {
        propagate::run(workspace, args, &python)?;
    }
    if wanted(Comparison::Partition) {
        partition::run(workspace, args, &python)?;
    }
    Ok(())
}

/// The training step that is part of the checkout.
const BUNDLED: &str = "tests/programs/llama_tiny_fsdp_tp_train.mlir";

/// Returns the programs that the command line names. The default is [`BUNDLED`], and the programs `large` of the corpus if they are
/// available.
fn files(workspace: &Workspace, args: &BenchArgs, large: &[&str]) -> Vec<PathBuf> {
    if !args.files.is_empty() {
        return args.files.clone();
    }
    let mut files = vec![workspace.root.join(BUNDLED)];
    files.extend(large.iter().map(|file| shared(workspace).join(file)).filter(|file| file.is_file()));
    files
}

/// The folder of shared data: `SHARDC_SHARED`, or `shared/` next to the checkout.
fn shared(workspace: &Workspace) -> PathBuf {
    env::var_os("SHARDC_SHARED").map_or_else(|| workspace.root.join("../shared"), PathBuf::from)
}

/// Returns the member `name` of a JSON object that a program printed, or the entire JSON if there is no such member.
fn json_member(json: &str, name: &str) -> Result<serde_json::Value> {
    let value: serde_json::Value =
        serde_json::from_str(json).with_context(|| format!("parsing the times in {}", json.trim()))?;
    Ok(value.get(name).unwrap_or(&value).clone())
}

/// Reads the seconds of each compilation stage from JSON.
fn seconds(value: serde_json::Value) -> Result<Seconds> {
    serde_json::from_value(value).context("parsing the times")
}

fn announce(file: &Path, runs: usize, what: &str) {
    println!("\n{}: {what} ({runs} alternating runs each)", file.display());
}

/// Prints the median time of each stage, in the order `order`, and the median of the total time. Returns the median of the total time.
fn print_stages(who: &str, runs: &[Seconds], order: &[&str]) -> f64 {
    let mut stages: Vec<&String> = runs.first().map(|run| run.keys().collect()).unwrap_or_default();
    stages.sort_by_key(|stage| order.iter().position(|s| s == stage));
    for stage in stages {
        println!("  {who:<7} {stage:<24} {:>10.2} ms", milliseconds(runs, stage));
    }
    let all = 1e3 * median(runs.iter().map(|run| run.values().sum::<f64>()));
    println!("  {who:<7} {:<24} {all:>10.2} ms", "all");
    all
}

fn milliseconds(runs: &[Seconds], stage: &str) -> f64 {
    1e3 * median(runs.iter().filter_map(|run| run.get(stage).copied()))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!(median([].into_iter()).is_nan());
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
    }
}
