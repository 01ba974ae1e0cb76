//! The memory estimate of each strategy, for training steps without annotations.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::Value;
use shardc_filetest::memory::{bytes, command, estimated, need};

use super::{asked, file_of, note};
use crate::bench::BenchArgs;
use xtask::{
    process,
    workspace::{Workspace, cargo},
};

/// The name of the program that writes training steps of the graph builder to files.
const STEPS: &str = "steps";

/// A table of the ratios of estimated to reported memory, for arguments and in total, followed by the reasons for outliers.
pub(super) fn table(
    workspace: &Workspace,
    args: &BenchArgs,
    shardc: &Path,
    figures: &mut Value,
) -> Result<String> {
    let meshes = figures["meshes"].as_object().context("tests/memory.json has no `meshes`")?;
    let meshes: Vec<(String, String)> =
        meshes.iter().filter_map(|(words, mesh)| Some((words.clone(), mesh.as_str()?.to_owned()))).collect();
    let mut table = String::from("| step | slice |");
    for (words, _) in &meshes {
        let _ = write!(table, " `{words}` |");
    }
    let _ = write!(table, "\n|---|---|{}", "---:|".repeat(meshes.len()));
    let mut notes = Vec::new();
    let graphs = graphs(workspace, &meshes)?;
    for step in figures["strategies"].as_array_mut().context("tests/memory.json has no `strategies`")? {
        let name = step["name"].as_str().unwrap_or_default().to_owned();
        if !args.wants(&name, || true) {
            continue;
        }
        let slice = step["slice"].as_str().context("a step in tests/memory.json has no `slice`")?.to_owned();
        let mut line = format!("| `{name}` | {slice} |");
        for (words, mesh) in &meshes {
            let words_of_all = format!("{words} {}", step["settings"].as_str().unwrap_or_default());
            let file = match step["graph"].as_str() {
                Some(graph) => graphs.join(format!("{graph}.{mesh}.mlir")),
                None => file_of(workspace, step)?,
            };
            let by = |subcommand: &str| {
                let mut command = command(shardc, subcommand, &file, step);
                command.args(["--fsdp", words_of_all.trim(), "--mesh", mesh]);
                command
            };
            let (mut compile, mut partition) = (by("compile"), by("partition"));
            if args.tpu {
                step["compiler"][words] = asked(&mut compile, &slice)?;
            }
            let (ours, theirs) = (estimated(&mut partition)?, &step["compiler"][words]);
            let arguments = bytes(&ours, "arguments")? / bytes(theirs, "arguments")?;
            let all = bytes(&ours, "peak")? / need(theirs)?;
            let _ = write!(line, " {arguments:.4}, {all:.3} |");
        }
        println!("{line}");
        table.push('\n');
        table.push_str(&line);
        notes.extend(note(step));
    }
    Ok(format!("{table}\n\n{}", notes.join("\n")))
}

/// Writes the training steps of the graph builder, and returns the folder, which has a file `STEP.MESH.mlir` for each step and mesh.
fn graphs(workspace: &Workspace, meshes: &[(String, String)]) -> Result<PathBuf> {
    let folder = workspace.scratch("steps")?;
    let mut command = cargo();
    command.current_dir(&workspace.root).args([
        "run",
        "--quiet",
        "--package",
        "shardc-tests",
        "--bin",
        STEPS,
    ]);
    command.arg("--").arg(&folder).args(meshes.iter().map(|(_, mesh)| mesh).collect::<BTreeSet<_>>());
    process::step("write the steps of the graph builder", || process::run(&mut command))?;
    Ok(folder)
}
