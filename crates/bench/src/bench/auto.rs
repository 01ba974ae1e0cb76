//! The shardings of `shardc auto`, compared with hand-written strategies by the TPU compiler.
//!
//! `auto` minimizes the time of a step under a limit of memory. A hand-written strategy is compared twice: with the fastest answer, and with the
//! answer under the memory that the hand-written strategy needs by shardc's own estimate. `tests/auto.json` lists the programs. `--tpu` compiles
//! them, which takes minutes, and writes the compiler's figures there; without it, the stored figures are printed.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use shardc_filetest::{program, root, time::texts};

use super::{BenchArgs, page, shared};
use xtask::{plugins::Plugin, process, setup, workspace::Workspace};

/// The head of the table.
const HEAD: &str = "| program | devices | hand-written | answer | sent | memory | cycles | step | search | gap |\n\
                    |---|---|---|---|---:|---:|---:|---:|---:|---:|\n";

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let file = root().join("auto.json");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let mut json: Value =
        serde_json::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
    if args.tpu {
        let shardc = process::step("build shardc", program::shardc)?;
        setup::run(&[Plugin::Tpu])?;
        for case in json["programs"].as_array_mut().context("tests/auto.json has no `programs`")? {
            let case = case.as_object_mut().context("a program in tests/auto.json is not an object")?;
            let figures = Case::read(workspace, case)?;
            if args.wants(&figures.name, || true) {
                case.insert("figures".to_owned(), figures.measure(&shardc)?);
                print!("{}", rows(&Value::Object(case.clone())));
            }
        }
        fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&json)?))
            .with_context(|| format!("writing {}", file.display()))?;
    }
    let cases = json["programs"].as_array().into_iter().flatten();
    let table: String = cases.map(rows).collect();
    print!("\n{HEAD}{table}");
    if args.update { page::update(workspace, "--only auto", &format!("{HEAD}{table}")) } else { Ok(()) }
}

/// A program with a hand-written strategy.
struct Case {
    name: String,
    file: PathBuf,
    target: String,
    /// The options of the hand-written strategy; none if the program has annotations.
    options: Vec<String>,
}

impl Case {
    fn read(workspace: &Workspace, case: &serde_json::Map<String, Value>) -> Result<Case> {
        let text = |key: &str| {
            let text = case.get(key).and_then(Value::as_str);
            text.map(str::to_owned).with_context(|| format!("a program in tests/auto.json has no `{key}`"))
        };
        let file = shared(workspace).join(text("file")?);
        ensure!(file.is_file(), "the program {} does not exist", file.display());
        let options = case.get("options").map(texts).into_iter().flatten().map(str::to_owned).collect();
        Ok(Case { name: text("name")?, file, target: text("target")?, options })
    }

    /// Compiles the hand-written strategy and the answers of `shardc auto`, without a limit of memory and with that of the hand-written strategy.
    fn measure(&self, shardc: &Path) -> Result<Value> {
        let folder = tempfile::tempdir().context("making a folder")?;
        let written = plan(shardc, &self.file, &self.options, &self.target)?;
        let limit = written["memory"]["high"].as_u64().context("the plan has no memory")?;
        let mut figures = json!({ "written": self.compiled(shardc, &self.file, &self.options, &written)? });
        for (name, limit) in [("fastest", None), ("limited", Some(limit))] {
            let found = folder.path().join(format!("{name}.mlir"));
            let started = Instant::now();
            let report = self.search(shardc, limit, &found)?;
            let seconds = started.elapsed().as_secs_f64();
            let planned = plan(shardc, &found, &[], &self.target)?;
            let mut figure = self.compiled(shardc, &found, &[], &planned)?;
            for key in ["mesh", "strategy", "is_replicated", "gap"] {
                figure[key] = report[key].clone();
            }
            figure["search_seconds"] = json!((seconds * 10.0).round() / 10.0);
            figures[name] = figure;
        }
        Ok(figures)
    }

    /// Runs `shardc auto` and writes the annotated program to `found`; returns the report.
    fn search(&self, shardc: &Path, limit: Option<u64>, found: &Path) -> Result<Value> {
        let mut command = Command::new(shardc);
        command.arg("auto").arg(&self.file).args(["--target", &self.target, "--ignore-shardings"]);
        if let Some(limit) = limit {
            command.args(["--memory", &limit.to_string()]);
        }
        command.args(["--quiet", "--json", "-", "--output"]).arg(found);
        answer(&mut command)
    }

    /// The figures of the TPU compiler for a program, or why it rejects the program, with the planned time of a step.
    fn compiled(&self, shardc: &Path, file: &Path, options: &[String], plan: &Value) -> Result<Value> {
        let mut command = Command::new(shardc);
        command.arg("compile").arg(file).args(options);
        command.args(["--target", &format!("tpu:{}", self.target), "--quiet", "--json", "-"]);
        let step = &plan["time"]["seconds"];
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        if !out.status.success() {
            let error = String::from_utf8_lossy(&out.stderr);
            return Ok(json!({ "error": error.lines().next().unwrap_or_default(), "step": step }));
        }
        let report: Value =
            serde_json::from_slice(&out.stdout).context("parsing the report of `shardc compile`")?;
        let bytes = |key: &str| report[key].as_u64().unwrap_or(0);
        let kinds = report["collectives"].as_object().into_iter().flatten();
        let sent: u64 = kinds.filter_map(|(_, of)| of["bytes_sent"].as_u64()).sum();
        let memory =
            bytes("argument_bytes") + bytes("output_bytes") + bytes("temp_bytes") - bytes("alias_bytes");
        Ok(json!({ "sent": sent, "memory": memory, "cycles": report["cycles"], "step": step }))
    }
}

/// Runs `shardc plan` on a file.
fn plan(shardc: &Path, file: &Path, options: &[String], target: &str) -> Result<Value> {
    let mut command = Command::new(shardc);
    command.arg("plan").arg(file).args(options).args(["--target", target]);
    command.args(["--no-changes", "--quiet", "--format", "json"]);
    answer(&mut command)
}

/// Runs a command that prints JSON.
fn answer(command: &mut Command) -> Result<Value> {
    let out = command.output().with_context(|| format!("starting {}", process::shown(command)))?;
    let error = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "{} failed: {error}", process::shown(command));
    serde_json::from_slice(&out.stdout)
        .with_context(|| format!("reading the output of {}", process::shown(command)))
}

/// The rows of a program: its two answers, relative to the hand-written strategy.
fn rows(case: &Value) -> String {
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    let figures = &case["figures"];
    let mut out = String::new();
    for (key, words) in [("fastest", "fastest"), ("limited", "in its memory")] {
        let (written, found) = (&figures["written"], &figures[key]);
        if found.is_null() {
            continue;
        }
        let _ = write!(out, "| `{}` | {} | {} | {words}: ", text("name"), text("target"), text("written"));
        let _ = write!(out, "{} on {} |", strategy(found), found["mesh"].as_str().unwrap_or_default());
        for quantity in ["sent", "memory", "cycles", "step"] {
            let _ = write!(out, " {} |", ratio(&found[quantity], &written[quantity]));
        }
        let number = |key: &str| found[key].as_f64();
        let seconds = number("search_seconds").map_or_else(String::new, |n| format!("{n:.1} s"));
        let gap = number("gap").map_or_else(|| "-".to_owned(), |n| format!("{n:.2}"));
        let _ = writeln!(out, " {seconds} | {gap} |");
    }
    out
}

/// The strategy of an answer.
fn strategy(found: &Value) -> &str {
    if found["is_replicated"] == true { "replicated" } else { found["strategy"].as_str().unwrap_or_default() }
}

/// One figure divided by another; a dash where the compiler has none.
fn ratio(found: &Value, written: &Value) -> String {
    match (found.as_f64(), written.as_f64()) {
        (Some(0.0), Some(0.0)) => "1.00".to_owned(),
        (Some(found), Some(written)) if written > 0.0 => format!("{:.2}", found / written),
        (Some(found), Some(_)) => format!("{found} : 0"),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_written_with_the_figures_that_exist() {
        assert_eq!(ratio(&json!(1), &json!(2)), "0.50");
        assert_eq!(ratio(&json!(0), &json!(0)), "1.00");
        assert_eq!(ratio(&json!(7), &json!(0)), "7 : 0");
        assert_eq!(ratio(&Value::Null, &json!(2)), "-");
    }
}
