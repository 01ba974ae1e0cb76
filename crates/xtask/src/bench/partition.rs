//! Propagation and partitioning: shardc beside Shardy's propagation, as jaxlib holds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{BenchArgs, Seconds, announce, files, json_member, milliseconds, print_stages, seconds, shared};
use crate::{demo, process, setup, workspace::Workspace};

const SHARDY: &str = include_str!("../../python/shardy_propagation.py");
const BUNDLED: &str = "tests/programs/llama_tiny_fsdp_tp_train.mlir";
const LARGE: &str = "corpus/jax/llama7b_32l_fsdp_tp_train.mlir";

/// Stages in the order in which they happen; ones that are not listed come first.
const STAGES: [&str; 6] = ["read", "parse", "import", "propagate", "partition", "print"];

pub(super) fn run(workspace: &Workspace, args: &BenchArgs, python: &Path) -> Result<()> {
    setup::run(false)?;
    let shardc = process::step("build shardc, optimised", || demo::build(workspace, true))?;
    let dir = workspace.scratch("bench")?;
    let peer = Peer::new(workspace, &dir)?;
    for file in files(workspace, args, BUNDLED, LARGE) {
        announce(&file, args.runs, "partition");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..args.runs {
            ours.push(shardc_seconds(&shardc, &file, &dir)?);
            theirs.push(peer.seconds(python, &file)?);
        }
        let all = print_stages("shardc", &ours, &STAGES);
        print_stages("Shardy", &theirs, &STAGES);
        let (us, them) = (milliseconds(&ours, "propagate"), milliseconds(&theirs, "propagate"));
        println!("  propagation alone: shardc is {:.1} times as fast as Shardy", them / us);
        println!(
            "  shardc reads, propagates, partitions and prints in {:.2} of the time of Shardy's propagation alone",
            all / them
        );
    }
    Ok(())
}

fn shardc_seconds(shardc: &Path, file: &Path, dir: &Path) -> Result<Seconds> {
    let timings = dir.join("timings.json");
    let mut command = Command::new(shardc);
    command.arg("partition").arg(file).arg("-o").arg(dir.join("out.mlir")).arg("--timings").arg(&timings);
    process::output(&mut command)?;
    let text = fs::read_to_string(&timings).with_context(|| format!("reading {}", timings.display()))?;
    seconds(json_member(&text, "seconds")?)
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
        // The tool keeps the times apart from what it says of the file, and uses Shardy's name of the pass.
        let mut times = seconds(json_member(&json, "seconds")?)?;
        if let Some(time) = times.remove("sdy-propagation-pipeline") {
            times.insert("propagate".to_owned(), time);
        }
        Ok(times)
    }
}
