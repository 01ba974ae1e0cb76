//! The estimate of a device's memory beside what the TPU compiler takes.
//!
//! What the compiler takes for each program is kept in `tests/memory.json`, which a test reads too, for it compiles minutes where
//! the estimate takes seconds. `--tpu` compiles the named programs, or all, and writes the figures anew.

mod strategies;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use shardc_filetest::program;

use super::{BenchArgs, page, shared};
use crate::{process, setup, workspace::Workspace};

/// The programs, and what the compiler takes for each.
const FIGURES: &str = "tests/memory.json";

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let figures = workspace.root.join(FIGURES);
    let text = fs::read_to_string(&figures).with_context(|| format!("reading {}", figures.display()))?;
    let mut json: Value = serde_json::from_str(&text).context("reading the figures")?;
    let shardc = process::step("build shardc", program::shardc)?;
    if args.tpu {
        setup::run(false)?;
    }
    let mut table = String::from(
        "| program | slice | TPU compiler | arguments | temporaries | estimate | temporaries | ratio |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut notes = Vec::new();
    for program in json["programs"].as_array_mut().context("the figures have no programs")? {
        let name = program["name"].as_str().unwrap_or_default().to_owned();
        if !args.wants(&name, || true) {
            continue;
        }
        if args.tpu {
            let slice = program["slice"].as_str().context("a program has no slice")?;
            let mut compile = command(&shardc, "compile", &file_of(workspace, program)?, program);
            program["compiler"] = asked(&mut compile, slice)?;
        }
        let line = row(workspace, &shardc, program)?;
        print!("{line}");
        table.push_str(&line);
        if let Some(why) = program["why"].as_str() {
            notes.push(format!("* `{name}` ({}): {why}", program["slice"].as_str().unwrap_or_default()));
        }
    }
    let strategies = strategies::table(workspace, args, &shardc, &mut json)?;
    let table = format!("{table}\n{}\n\n{strategies}", notes.join("\n"));
    if args.tpu {
        let text = format!("{}\n", serde_json::to_string_pretty(&json)?);
        fs::write(&figures, text).with_context(|| format!("writing {}", figures.display()))?;
    }
    if args.update { page::update(workspace, "--only memory", &table) } else { Ok(()) }
}

/// The file of a program.
fn file_of(workspace: &Workspace, program: &Value) -> Result<PathBuf> {
    let file = program["file"].as_str().context("a program has no file")?;
    let file =
        if file.starts_with("tests/") { workspace.root.join(file) } else { shared(workspace).join(file) };
    ensure!(file.is_file(), "{} is not there", file.display());
    Ok(file)
}

/// `shardc COMMAND FILE OPTIONS` with the options of a program.
fn command(shardc: &Path, name: &str, file: &Path, program: &Value) -> Command {
    let mut command = Command::new(shardc);
    command.arg(name).arg(file);
    let options = program["options"].as_array().into_iter().flatten();
    command.args(options.filter_map(Value::as_str));
    command
}

/// Asks the TPU compiler what a program takes on a slice.
fn asked(compile: &mut Command, slice: &str) -> Result<Value> {
    compile.args(["--target", &format!("tpu:{slice}"), "--quiet", "--json", "-"]);
    let report: Value = serde_json::from_str(&process::output(compile)?).context("reading the report")?;
    let bytes = |key: &str| report[key].as_u64().with_context(|| format!("the report has no {key}"));
    Ok(json!({
        "arguments": bytes("argument_bytes")?,
        "outputs": bytes("output_bytes")?,
        "aliases": bytes("alias_bytes")?,
        "temporaries": bytes("temp_bytes")?,
    }))
}

/// What a program is estimated to take.
fn estimated(partition: &mut Command) -> Result<Value> {
    partition.args(["--summary", "--format", "json", "-o", "-"]);
    let out = partition.output().with_context(|| format!("starting {}", process::shown(partition)))?;
    ensure!(out.status.success(), "`{}` failed", process::shown(partition));
    let said = String::from_utf8_lossy(&out.stderr);
    let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let summary = lines.find(|json| json["type"] == "summary").context("there is no summary")?;
    Ok(summary["memory"].clone())
}

fn bytes_of(json: &Value, key: &str) -> Result<f64> {
    json[key].as_f64().with_context(|| format!("there are no {key}"))
}

/// All that the compiler takes.
fn need(compiler: &Value) -> Result<f64> {
    let of = |key| bytes_of(compiler, key);
    Ok(of("arguments")? + of("outputs")? - of("aliases")? + of("temporaries")?)
}

/// A line of the table.
fn row(workspace: &Workspace, shardc: &Path, program: &Value) -> Result<String> {
    let ours = estimated(&mut command(shardc, "partition", &file_of(workspace, program)?, program))?;
    let (theirs, of) = (&program["compiler"], bytes_of);
    let (need, peak) = (need(theirs)?, of(&ours, "peak")?);
    let bytes = |n| page::three_digits(n, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]);
    let mut line = String::new();
    let _ = writeln!(
        line,
        "| `{}` | {} | {} | {} | {} | {} | {} | {:.3} |",
        program["name"].as_str().unwrap_or_default(),
        program["slice"].as_str().unwrap_or_default(),
        bytes(need),
        bytes(of(theirs, "arguments")?),
        bytes(of(theirs, "temporaries")?),
        bytes(peak),
        bytes(of(&ours, "temporaries")?),
        peak / need
    );
    Ok(line)
}
