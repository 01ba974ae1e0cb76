//! shardc's estimate of device memory, compared with the memory that the TPU compiler reports.
//!
//! The compiler takes minutes, so its results for each program are stored in `tests/memory.json`, which a test also reads. `--tpu` compiles
//! the named programs, or all programs, and rewrites the file. `--ablation` prints the error of the estimates without each rule instead.

mod sets;
mod strategies;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use shardc_filetest::memory::{self, bytes, command, estimated};
use shardc_filetest::program;

use super::{BenchArgs, page, shared};
use xtask::{process, setup, workspace::Workspace};

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let mut json = memory::figures()?;
    let shardc = process::step("build shardc", program::shardc)?;
    if args.tpu {
        setup::run(&[])?;
    }
    if args.ablation {
        return sets::ablation(workspace, args, &shardc, &json);
    }
    let mut table = String::from(
        "| program | slice | TPU compiler | arguments | temporaries | estimate | temporaries | ratio |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut notes = Vec::new();
    for program in json["programs"].as_array_mut().context("tests/memory.json has no `programs`")? {
        let name = program["name"].as_str().unwrap_or_default().to_owned();
        if !args.wants(&name, || true) {
            continue;
        }
        if args.tpu {
            let slice = program["slice"].as_str().context("a program in tests/memory.json has no `slice`")?;
            let mut compile = command(&shardc, "compile", &file_of(workspace, program)?, program);
            let mut answer = asked(&mut compile, slice)?;
            // libtpu 0.0.51 reports no temporaries for most forward-only programs, although its buffer assignments contain some.
            let kept = &program["compiler"]["temporaries"];
            if answer["temporaries"] == 0 && kept.as_u64().is_some_and(|bytes| bytes > 0) {
                println!(
                    "`{name}`: the compiler does not report temporaries; those of tests/memory.json are kept"
                );
                answer["temporaries"] = kept.clone();
            }
            program["compiler"] = answer;
        }
        let line = row(workspace, &shardc, program)?;
        print!("{line}");
        table.push_str(&line);
        notes.extend(note(program));
    }
    let strategies = strategies::table(workspace, args, &shardc, &mut json)?;
    let sets = sets::tables(workspace, args, &shardc, &mut json)?;
    let table = format!("{table}\n{}\n\n{}{sets}", notes.join("\n"), strategies.trim_end());
    if args.tpu {
        let text = format!("{}\n", serde_json::to_string_pretty(&json)?);
        fs::write(memory::file(), text).context("writing tests/memory.json")?;
    }
    if args.update { page::update(workspace, "--only memory", &table) } else { Ok(()) }
}

/// Returns a line with the reason why the estimate of a program or a step is outside the usual range, or `None` if the estimate is in the
/// range.
fn note(program: &Value) -> Option<String> {
    let text = |key: &str| program[key].as_str();
    Some(format!("* `{}` ({}): {}", text("name")?, text("slice")?, text("why")?))
}

/// The file of a program.
fn file_of(workspace: &Workspace, program: &Value) -> Result<PathBuf> {
    let file = program["file"].as_str().context("a program in tests/memory.json has no `file`")?;
    let file =
        if file.starts_with("tests/") { workspace.root.join(file) } else { shared(workspace).join(file) };
    ensure!(file.is_file(), "the program {} does not exist", file.display());
    Ok(file)
}

/// Runs the TPU compiler on a program for a TPU slice, and returns the memory that it reports.
fn asked(compile: &mut Command, slice: &str) -> Result<Value> {
    compile.args(["--target", &format!("tpu:{slice}"), "--quiet", "--json", "-"]);
    let report: Value =
        serde_json::from_str(&process::output(compile)?).context("parsing the report of `shardc compile`")?;
    let bytes = |key: &str| {
        report[key].as_u64().with_context(|| format!("the report of `shardc compile` has no `{key}`"))
    };
    Ok(json!({
        "arguments": bytes("argument_bytes")?,
        "outputs": bytes("output_bytes")?,
        "aliases": bytes("alias_bytes")?,
        "temporaries": bytes("temp_bytes")?,
    }))
}

/// A row of the table.
fn row(workspace: &Workspace, shardc: &Path, program: &Value) -> Result<String> {
    let ours = estimated(&mut command(shardc, "partition", &file_of(workspace, program)?, program))?;
    let theirs = &program["compiler"];
    let (need, peak) = (memory::need(theirs)?, bytes(&ours, "peak")?);
    let mut line = String::new();
    let _ = writeln!(
        line,
        "| `{}` | {} | {} | {} | {} | {} | {} | {:.3} |",
        program["name"].as_str().unwrap_or_default(),
        program["slice"].as_str().unwrap_or_default(),
        short(need),
        short(bytes(theirs, "arguments")?),
        short(bytes(theirs, "temporaries")?),
        short(peak),
        short(bytes(&ours, "temporaries")?),
        peak / need
    );
    Ok(line)
}

fn short(bytes: f64) -> String {
    page::three_digits(bytes, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3)])
}
