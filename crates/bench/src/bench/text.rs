//! Compares the time to parse, verify and print text with the MLIR in jaxlib. Both run on one thread.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::{BenchArgs, Seconds, announce, files, json_member, print_stages, seconds};
use xtask::{
    process,
    workspace::{Workspace, cargo},
};

const MLIR: &str = include_str!("../../python/mlir_text.py");
const LARGE: &str = "corpus/jax/llama70b_80l_fsdp_tp_train.mlir";
const STAGES: [&str; 3] = ["read", "verify", "print"];

pub(super) fn run(workspace: &Workspace, args: &BenchArgs, python: &Path) -> Result<()> {
    let script = workspace.scratch("bench")?.join("mlir_text.py");
    fs::write(&script, MLIR).with_context(|| format!("writing {}", script.display()))?;
    process::step("build the reader, optimized", || {
        process::run(bench(workspace).args(["--no-run", "--quiet"]))
    })?;
    for file in files(workspace, args, &[LARGE]) {
        announce(&file, args.runs, "text");
        let (mut ours, mut theirs, mut memory) = (Vec::new(), Vec::new(), (0.0, 0.0));
        for _ in 0..args.runs {
            let json =
                process::output(bench(workspace).args(["--quiet", "--"]).arg(fs::canonicalize(&file)?))?;
            ours.push(times(&json)?);
            let number = |name| json_member(&json, name).map(|value| value.as_f64().unwrap_or(f64::NAN));
            memory = (number("peak")?, number("bytes")?);
            theirs.push(times(&process::output(Command::new(python).arg(&script).arg(&file))?)?);
        }
        let us = print_stages("shardc", &ours, &STAGES);
        let them = print_stages("MLIR", &theirs, &STAGES);
        println!("  shardc is {:.1} times as fast as MLIR", them / us);
        println!(
            "  peak memory of the process: {:.1} MB, {:.1} times the {:.1} MB of the file",
            memory.0 / 1e6,
            memory.0 / memory.1,
            memory.1 / 1e6
        );
    }
    Ok(())
}

fn bench(workspace: &Workspace) -> Command {
    let mut command = cargo();
    command.current_dir(&workspace.root).args(["bench", "--package", "shardc-stablehlo", "--bench", "text"]);
    command
}

fn times(json: &str) -> Result<Seconds> {
    seconds(json_member(json, "seconds")?)
}
