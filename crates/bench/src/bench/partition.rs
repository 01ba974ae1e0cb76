//! Compares the time of propagation and partitioning with Shardy's propagation in jaxlib.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::{
    BenchArgs, Seconds, announce, files, json_member, milliseconds, print_stages, seconds, shardy::Peer,
};
use xtask::{demo, process, setup, workspace::Workspace};

const LARGE: &str = "corpus/jax/llama7b_32l_fsdp_tp_train.mlir";

/// Stages in the order of execution; stages that are not listed are printed first.
const STAGES: [&str; 6] = ["read", "parse", "import", "propagate", "partition", "print"];

pub(super) fn run(workspace: &Workspace, args: &BenchArgs, python: &Path) -> Result<()> {
    setup::run(&[])?;
    let shardc = process::step("build shardc, optimized", || demo::build(workspace, true))?;
    let dir = workspace.scratch("bench")?;
    let peer = Peer::new(workspace, &dir)?;
    for file in files(workspace, args, &[LARGE]) {
        announce(&file, args.runs, "partition");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..args.runs {
            ours.push(shardc_seconds(&shardc, &file, &dir)?);
            theirs.push(peer.seconds(python, &file)?);
        }
        let all = print_stages("shardc", &ours, &STAGES);
        print_stages("Shardy", &theirs, &STAGES);
        let (us, them) = (milliseconds(&ours, "propagate"), milliseconds(&theirs, "propagate"));
        println!("  propagation only: shardc is {:.1} times as fast as Shardy", them / us);
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
    command.args(["--format", "json", "partition"]).arg(file).arg("-o").arg(dir.join("out.mlir"));
    command.arg("--timings").arg(&timings);
    process::output(&mut command)?;
    let text = fs::read_to_string(&timings).with_context(|| format!("reading {}", timings.display()))?;
    seconds(json_member(&text, "seconds")?)
}
