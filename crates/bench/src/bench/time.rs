//! The times of `shardc plan` for strategies of training steps, compared with the TPU compiler's cycles and bytes.
//!
//! The compiler's figures are stored in `tests/time.json`, which a test also reads. `--tpu` compiles the named programs, or all programs, and
//! rewrites the file. The compiler estimates cycles on v5e only. It has no estimate of the time of collectives, so strategies are compared by
//! rank (`shardc_filetest::time`).

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use shardc_filetest::program;
use shardc_filetest::time::{self, Ranks, Strategy, plan, texts};

use super::{BenchArgs, page, shared};
use xtask::{plugins::Plugin, process, setup, workspace::Workspace};

/// The ranks of one program.
struct Compared {
    name: String,
    /// The quantity, and its ranks.
    ranks: [(&'static str, Ranks); 3],
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let mut json = time::figures()?;
    let shardc = process::step("build shardc", program::shardc)?;
    if args.tpu {
        setup::run(&[Plugin::Tpu])?;
    }
    let mut table = String::from(
        "| program | strategy | cycles | computation | sent, TPU compiler | sent, plan | collectives | step |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut compared = Vec::new();
    for program in json["programs"].as_array_mut().context("tests/time.json has no `programs`")? {
        let name = text(program, "name")?;
        if !args.wants(&name, || true) {
            continue;
        }
        let (file, slice) = (shared(workspace).join(text(program, "file")?), text(program, "slice")?);
        ensure!(file.is_file(), "the program {} does not exist", file.display());
        let mut strategies = Vec::new();
        let all = program["strategies"]
            .as_object_mut()
            .context("a program in tests/time.json has no `strategies`")?;
        for (strategy, of) in all {
            if args.tpu {
                of["compiler"] = compile(&shardc, &file, of, &slice)?;
            }
            // The compiler rejects strategies that need too much memory.
            let Some(cycles) = of["compiler"]["cycles"].as_f64() else { continue };
            let sent =
                of["compiler"]["sent"].as_f64().context("a strategy in tests/time.json has no `sent`")?;
            let collectives = of["compiler"]["collectives"]
                .as_f64()
                .context("a strategy in tests/time.json has no `collectives`")?;
            let plan = plan(&shardc, &file, &of["options"], &slice)?;
            strategies.push(Strategy { name: strategy.clone(), cycles, sent, collectives, plan });
        }
        strategies.sort_by(|a, b| a.plan.seconds.total_cmp(&b.plan.seconds));
        for strategy in &strategies {
            let line = row(&name, strategy);
            print!("{line}");
            table.push_str(&line);
        }
        let ranks = [
            ("steps", Ranks::of_steps(&strategies)),
            ("computation", Ranks::of_compute(&strategies)),
            ("bytes", Ranks::of_bytes(&strategies)),
        ];
        compared.push(Compared { name, ranks });
    }
    let verdicts = verdicts(&compared);
    print!("\n{verdicts}");
    if args.tpu {
        let text = format!("{}\n", serde_json::to_string_pretty(&json)?);
        fs::write(time::file(), text).context("writing tests/time.json")?;
    }
    if args.update { page::update(workspace, "--only time", &format!("{table}\n{verdicts}")) } else { Ok(()) }
}

fn text(program: &Value, key: &str) -> Result<String> {
    let text =
        program[key].as_str().with_context(|| format!("a program in tests/time.json has no `{key}`"))?;
    Ok(text.to_owned())
}

/// Runs the TPU compiler on a strategy; returns its figures, or why it rejects the program.
fn compile(shardc: &Path, file: &PathBuf, of: &Value, slice: &str) -> Result<Value> {
    let mut command = Command::new(shardc);
    command.arg("compile").arg(file).args(texts(&of["options"]));
    command.args(["--target", &format!("tpu:{slice}"), "--quiet", "--json", "-"]);
    let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
    if !out.status.success() {
        let error = String::from_utf8_lossy(&out.stderr);
        return Ok(json!({ "error": error.lines().next().unwrap_or_default() }));
    }
    let report: Value =
        serde_json::from_slice(&out.stdout).context("parsing the report of `shardc compile`")?;
    let sum = |key: &str| -> u64 {
        let kinds = report["collectives"].as_object().into_iter().flatten();
        kinds.filter_map(|(_, of)| of[key].as_u64()).sum()
    };
    Ok(json!({ "cycles": report["cycles"], "sent": sum("bytes_sent"), "collectives": sum("count") }))
}

fn row(name: &str, strategy: &Strategy) -> String {
    let Strategy { name: words, cycles, sent, collectives, plan } = strategy;
    let bytes = |n| page::three_digits(n, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]);
    let seconds = |n: f64| page::three_digits(1e6 * n, &[("s", 1e6), ("ms", 1e3), ("us", 1.0)]);
    let mut line = String::new();
    let _ = writeln!(
        line,
        "| `{name}` | {words} | {cycles:.3e} | {} | {} | {} | {collectives} | {} |",
        seconds(plan.compute),
        bytes(*sent),
        bytes(plan.sent),
        seconds(plan.seconds)
    );
    line
}

/// For each quantity, the number of pairs that are ranked as by the compiler, and the programs of the others.
fn verdicts(compared: &[Compared]) -> String {
    let mut out = String::new();
    for i in 0..3 {
        let ranks = || compared.iter().map(move |of| (&of.name, &of.ranks[i].1));
        let pairs: usize = ranks().map(|(_, ranks)| ranks.pairs).sum();
        let wrong: usize = ranks().map(|(_, ranks)| ranks.wrong.len()).sum();
        let others = ranks().filter(|(_, ranks)| !ranks.wrong.is_empty());
        let others: Vec<String> =
            others.map(|(name, ranks)| format!("{} of `{name}`", ranks.wrong.len())).collect();
        let what = compared.first().map_or("", |of| of.ranks[i].0);
        let right = pairs - wrong;
        let _ = write!(out, "* {what}: {right} of {pairs} pairs of strategies are ranked as by the compiler");
        let _ = writeln!(out, "{}{}", if others.is_empty() { "" } else { "; not " }, others.join(", "));
    }
    out
}
