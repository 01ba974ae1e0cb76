//! Compares the time of training steps on virtual CPU devices for shardc's and XLA's partition of the same program.
//!
//! One jaxlib process compiles both programs with the same options and executes them in turns on the same inputs. XLA partitions the
//! annotated file itself; the other program is the output of `shardc partition` for this file, in replica mode. Virtual devices share the
//! machine's cores. So the time of a step is the compute time of all devices together, and communication costs only copies and
//! synchronization.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, process::Command};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use shardc_filetest::program;

use super::{
    BenchArgs,
    corpus::{Subject, subjects},
    page,
};
use xtask::{process, python, setup, workspace::Workspace};

/// A script that compiles and times both programs.
const SCRIPT: &str = include_str!("../../python/step_time.py");

/// Minimum number of timed steps of each program, for each of `--runs`. The median of many steps is robust against other load on the
/// machine.
const STEPS: usize = 5;

/// The ratio of step times above which a program is listed after the table.
const BOUND: f64 = 1.05;

/// The comparison of one program, or the reason why the program was not compared.
struct Row {
    name: String,
    outcome: Result<Times, String>,
}

struct Times {
    ours: Side,
    xla: Side,
    /// The ratio of shardc's to XLA's CPU time, summed over all devices. Other load affects this ratio less than the ratio of step times.
    cpu: f64,
}

struct Side {
    /// The median step time.
    seconds: f64,
    /// Number of collectives of each kind in the compiled program.
    collectives: BTreeMap<String, u64>,
}

impl Times {
    fn ratio(&self) -> f64 {
        self.ours.seconds / self.xla.seconds
    }

    /// The cells of the table: step times of XLA and shardc, the ratio of step times and of CPU times, and the collectives of both
    /// programs.
    fn cells(&self) -> [String; 6] {
        [
            duration(self.xla.seconds),
            duration(self.ours.seconds),
            format!("{:.3}", self.ratio()),
            format!("{:.3}", self.cpu),
            page::collectives(&self.xla.collectives),
            page::collectives(&self.ours.collectives),
        ]
    }
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let python = python::with_jax(args.python.as_deref())?;
    setup::run(&[])?;
    let shardc = process::step("build shardc", program::shardc)?;
    let dir = workspace.scratch("step")?;
    let script = dir.join("step_time.py");
    fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
    let steps = args.runs * STEPS;
    let is_default = |program: &Value| program["executable"] == true && program["kind"] == "train";
    let mut rows = Vec::new();
    for subject in subjects(workspace, args, is_default)? {
        let outcome = compare(&subject, &shardc, &dir, Command::new(&python).arg(&script), steps)?;
        let row = Row { name: subject.name, outcome };
        println!("{}", line(&row));
        rows.push(row);
    }
    // Rows are sorted by ratio, so that the slowest program relative to XLA is last. Programs without a comparison are reported after the
    // table.
    rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let table = table(&rows);
    println!("\n{table}");
    if args.update {
        page::update(workspace, "--only step", &table)?;
    }
    Ok(())
}

/// Partitions the program and times it with `timer`.
fn compare(
    subject: &Subject,
    shardc: &Path,
    dir: &Path,
    timer: &mut Command,
    steps: usize,
) -> Result<Result<Times, String>> {
    let (program, manifest) = (dir.join("ours.mlir"), dir.join("ours.json"));
    let mut partition = Command::new(shardc);
    partition.arg("partition").arg(&subject.file).arg("-o").arg(&program).arg("--manifest").arg(&manifest);
    let done = partition.output().with_context(|| format!("starting {}", process::shown(&partition)))?;
    if !done.status.success() {
        let error = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_owned();
        return Ok(Err(format!("shardc cannot partition the program: {error}")));
    }
    timer.arg(&subject.file).arg(subject.mode).arg(&program).arg(&manifest).arg(steps.to_string());
    // A failure of this process is not an error of the benchmark, because XLA aborts the process on unexpected input.
    let out = timer.output().with_context(|| format!("starting {}", process::shown(timer)))?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        return Ok(Err(format!("the timing process failed ({}): {why}", out.status)));
    }
    let stdout = String::from_utf8(out.stdout).context("reading the output of the timing process")?;
    times(&stdout).with_context(|| format!("parsing the times of {}", subject.name))
}

/// Parses the output of the timing process for both programs.
fn times(json: &str) -> Result<Result<Times, String>> {
    let output: Value = serde_json::from_str(json)?;
    for (who, key) in [("XLA's own partition", "xla"), ("shardc's partition", "ours")] {
        if let Some(error) = output[key]["error"].as_str() {
            return Ok(Err(format!("{who} does not compile: {error}")));
        }
    }
    let side = |key: &str| -> Result<Side> {
        let seconds = output[key]["seconds"]
            .as_f64()
            .ok_or_else(|| anyhow!("the output of the timing process has no time of {key}"))?;
        let collectives = serde_json::from_value(output[key]["collectives"].clone())?;
        Ok(Side { seconds, collectives })
    };
    let cpu = output["cpu"]
        .as_f64()
        .ok_or_else(|| anyhow!("the output of the timing process has no ratio of CPU times"))?;
    Ok(Ok(Times { ours: side("ours")?, xla: side("xla")?, cpu }))
}

fn ratio(row: &Row) -> f64 {
    row.outcome.as_ref().map_or(f64::INFINITY, Times::ratio)
}

/// The comparison of a program as one line for the terminal.
fn line(Row { name, outcome }: &Row) -> String {
    match outcome {
        Ok(times) => {
            let [xla, ours, ratio, cpu, theirs, own] = times.cells();
            format!(
                "{name}: XLA {xla}, shardc {ours}, ratio {ratio}, ratio of CPU times {cpu}, collectives {theirs} (XLA), {own} (shardc)"
            )
        }
        Err(why) => format!("{name}: {why}"),
    }
}

/// The table in Markdown, followed by the means and the programs above the bound.
fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| program | step: XLA | ours | ratio | processor time: ratio | collectives: XLA | ours |\n\
         |---|---:|---:|---:|---:|---|---|\n",
    );
    let (mut ratios, mut cpu) = (Vec::new(), Vec::new());
    let mut missing = Vec::new();
    for Row { name, outcome } in rows {
        match outcome {
            Ok(times) => {
                ratios.push((times.ratio(), name.as_str()));
                cpu.push((times.cpu, name.as_str()));
                let _ = writeln!(out, "| `{name}` | {} |", times.cells().join(" | "));
            }
            Err(why) => missing.push(format!("`{name}`: {why}")),
        }
    }
    let compared = |quantity, ratios| page::Compared { quantity, ratios, bound: BOUND };
    out + &page::under("XLA's", &[compared("step", ratios), compared("processor time", cpu)], &missing)
}

/// Formats a duration as in `412 µs`, `14.6 ms` and `1.31 s`.
fn duration(seconds: f64) -> String {
    page::three_digits(seconds, &[("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, json: &str) -> Row {
        Row { name: name.to_owned(), outcome: times(json).unwrap() }
    }

    #[test]
    fn a_row_is_two_times_and_their_ratio() {
        let json = r#"{"ours": {"seconds": 0.012, "collectives": {"all-reduce": 2}},
                       "xla": {"seconds": 0.01, "collectives": {}}, "ratio": 1.2, "cpu": 1.1}"#;
        let table = table(&[row("a", json)]);
        assert!(table.contains("| `a` | 10.0 ms | 12.0 ms | 1.200 | 1.100 | none | AR 2 |"), "{table}");
        assert!(table.contains("mean of 1 programs; above 1.05: `a` 1.200"), "{table}");
    }

    #[test]
    fn compilation_failures_are_reported_separately() {
        let json = r#"{"ours": {"seconds": 1.0, "collectives": {}}, "xla": {"error": "UNIMPLEMENTED: x"}}"#;
        let table = table(&[row("a", json)]);
        assert!(table.contains("* `a`: XLA's own partition does not compile: UNIMPLEMENTED: x"), "{table}");
        assert!(table.contains("mean of 0 programs"), "{table}");
    }

    #[test]
    fn empty_output_is_an_error() {
        assert!(times(r#"{"ours": {}, "xla": {}}"#).is_err());
        assert!(times("").is_err());
    }

    #[test]
    fn durations_have_three_digits() {
        assert_eq!([0.000412, 0.0146, 1.31].map(duration), ["412 µs", "14.6 ms", "1.31 s"]);
    }
}
