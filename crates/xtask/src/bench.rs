//! `cargo xtask bench`: shardc beside Shardy on the same file.
//!
//! Both run in turns on one machine, so that what disturbs one disturbs the other; ratios mean more than times.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{demo, process, python, setup, workspace::Workspace};

const SHARDY: &str = include_str!("../python/shardy_propagation.py");

/// Programs to measure where none is named: what is in the checkout, and a large one where the corpus of real
/// programs lies beside it.
const BUNDLED: &str = "tests/programs/llama_tiny_fsdp_tp_train.mlir";
const LARGE: &str = "corpus/jax/llama7b_32l_fsdp_tp_train.mlir";

/// Stages in the order in which they happen; ones that are not listed come first.
const STAGES: [&str; 6] = ["read", "parse", "import", "propagate", "partition", "print"];

/// What to measure.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Programs with `sdy` annotations.
    files: Vec<PathBuf>,
    /// How often each side runs.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// A Python with jax; by default the active virtual environment's, or one made under `target/`.
    #[arg(long)]
    python: Option<PathBuf>,
}

/// Seconds by stage.
type Seconds = BTreeMap<String, f64>;

/// Measures and prints.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    ensure!(args.runs > 0, "--runs must be at least 1");
    setup::run(false)?;
    let python = python::with_jax(workspace, args.python.as_deref())?;
    let shardc = process::step("build shardc, optimised", || demo::build(workspace, true))?;
    let dir = workspace.scratch("bench")?;
    let peer = Peer::new(workspace, &dir)?;

    for file in files(workspace, args) {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        println!("\n{} ({} runs each, in turns)", file.display(), args.runs);
        for _ in 0..args.runs {
            ours.push(shardc_seconds(&shardc, &file, &dir)?);
            theirs.push(peer.seconds(&python, &file)?);
        }
        report(&ours, &theirs);
    }
    Ok(())
}

fn files(workspace: &Workspace, args: &BenchArgs) -> Vec<PathBuf> {
    if !args.files.is_empty() {
        return args.files.clone();
    }
    let mut files = vec![workspace.root.join(BUNDLED)];
    let large = shared(workspace).join(LARGE);
    if large.is_file() {
        files.push(large);
    }
    files
}

fn shardc_seconds(shardc: &Path, file: &Path, dir: &Path) -> Result<Seconds> {
    let timings = dir.join("timings.json");
    let mut command = Command::new(shardc);
    command.arg("partition").arg(file).arg("-o").arg(dir.join("out.mlir")).arg("--timings").arg(&timings);
    process::output(&mut command)?;
    let text = fs::read_to_string(&timings).with_context(|| format!("reading {}", timings.display()))?;
    seconds(&text)
}

/// What times Shardy: the independent tool beside the checkout where there is one, else the script that comes
/// along.
struct Peer {
    script: PathBuf,
    arguments: &'static [&'static str],
}

impl Peer {
    fn new(workspace: &Workspace, dir: &Path) -> Result<Peer> {
        let tool = shared(workspace).join("tools/shardy_pipeline.py");
        if tool.is_file() {
            return Ok(Peer { script: tool, arguments: &["--propagate-only"] });
        }
        let script = dir.join("shardy_propagation.py");
        fs::write(&script, SHARDY).with_context(|| format!("writing {}", script.display()))?;
        Ok(Peer { script, arguments: &[] })
    }

    fn seconds(&self, python: &Path, file: &Path) -> Result<Seconds> {
        let json = process::output(Command::new(python).arg(&self.script).args(self.arguments).arg(file))?;
        let value: serde_json::Value =
            serde_json::from_str(&json).with_context(|| format!("reading the times in {}", json.trim()))?;
        // The tool keeps the times apart from what it says of the file, and uses Shardy's name of the pass.
        let times = value.get("seconds").unwrap_or(&value).clone();
        let mut times: Seconds = serde_json::from_value(times).context("reading the times")?;
        if let Some(time) = times.remove("sdy-propagation-pipeline") {
            times.insert("propagate".to_owned(), time);
        }
        Ok(times)
    }
}

/// The folder of tools and real programs beside the checkout.
fn shared(workspace: &Workspace) -> PathBuf {
    env::var_os("SHARDC_SHARED").map_or_else(|| workspace.root.join("../shared"), PathBuf::from)
}

fn seconds(json: &str) -> Result<Seconds> {
    serde_json::from_str(json).with_context(|| format!("reading the times in {}", json.trim()))
}

/// Prints the median of each stage and of the sums, and the ratios.
fn report(ours: &[Seconds], theirs: &[Seconds]) {
    let stages = |runs: &[Seconds]| {
        let mut stages: Vec<String> = runs.first().map(|r| r.keys().cloned().collect()).unwrap_or_default();
        stages.sort_by_key(|stage| STAGES.iter().position(|s| s == stage));
        stages
    };
    let milliseconds =
        |runs: &[Seconds], stage: &str| 1e3 * median(runs.iter().filter_map(|r| r.get(stage).copied()));
    let total = |runs: &[Seconds]| 1e3 * median(runs.iter().map(|r| r.values().sum::<f64>()));
    for (who, runs) in [("shardc", ours), ("Shardy", theirs)] {
        for stage in stages(runs) {
            println!("  {who:<7} {stage:<24} {:>10.2} ms", milliseconds(runs, &stage));
        }
        println!("  {who:<7} {:<24} {:>10.2} ms", "all", total(runs));
    }
    let (us, them) = (milliseconds(ours, "propagate"), milliseconds(theirs, "propagate"));
    println!("  propagation alone: shardc is {:.1} times as fast as Shardy", them / us);
    println!(
        "  shardc reads, propagates, partitions and prints in {:.2} of the time of Shardy's propagation alone",
        total(ours) / them
    );
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
