//! Compares gradients of the functions in `gradients` of the shared data in several ways:
//!
//! * with JAX's gradients, by `check_grad.py`, which runs both with another XLA build,
//! * forward- and reverse-mode derivatives, including second derivatives, with each other and with finite differences, in double precision,
//! * gradients partitioned with random shardings on eight devices, in both SPMD modes, with the gradients on one device.
//!
//! The only exceptions are programs that XLA's CPU back end cannot run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use shardc_filetest::quick::xla_flags_for_gradients;

use super::{
    ConformanceArgs,
    partition::SCRIPT,
    worker::{self, Reply, Worker},
};
use xtask::{process, python, setup, workspace::Workspace};

/// The path of the tool in the shared data.
const TOOL: &str = "tools/check_grad.py";

/// Limitations of XLA's CPU back end: a fragment of the error message, and the reason.
const BACK_END: [(&str, &str); 2] = [
    ("fft_thunk.cc", "assigns the layout of a later all-gather to an FFT, which rejects it"),
    (
        "Inconsistent while sharding",
        "treats some loop-carried values as replicated, although all are marked as manual",
    ),
];

/// Number of functions between progress messages.
const PROGRESS_EVERY: usize = 25;

/// Time limit of one comparison.
const LIMIT: Duration = Duration::from_secs(600);

/// The results of all comparisons of one function.
#[derive(Default)]
struct Row {
    name: String,
    /// The largest error relative to JAX's gradient; `None` if the comparison did not succeed.
    jax: Option<f64>,
    /// Number of elements compared with finite differences; `None` if the comparison did not succeed.
    smooth: Option<u64>,
    /// Number of random shardings whose results agree with one device, by SPMD mode.
    partitioned: [u64; 2],
    /// Number of random shardings that the back end cannot run, by reason.
    not_run: [u64; BACK_END.len()],
    /// The failures.
    wrong: Vec<String>,
}

pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let pairs = root.join("gradients");
    let tool = root.join(TOOL);
    if !tool.is_file() {
        bail!("cannot find {}", tool.display());
    }
    let program =
        process::step("build the worker", || worker::build(workspace, worker::WORKER, args.release))?;
    let dir = workspace.scratch("conformance/gradients")?;
    let path = pairs.join("manifest.json");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let manifest: Value = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    let mut names: Vec<&str> =
        manifest["programs"].as_array().into_iter().flatten().filter_map(|p| p["name"].as_str()).collect();
    names.retain(|name| args.wants(&format!("gradients/{name}")));
    let python = python::with_jax(args.python.as_deref())?;
    let title = format!("differentiate and compare {} functions", names.len());
    let rows = process::step(&title, || {
        let mut lane = Lane::new(&pairs, &dir, program, python, &tool)?;
        let mut rows = Vec::new();
        for (i, name) in names.iter().enumerate() {
            if i > 0 && i % PROGRESS_EVERY == 0 {
                println!("   {i} of {} functions, at {name}", names.len());
            }
            rows.push(lane.function(name, args)?);
        }
        Ok(rows)
    })?;
    report(&rows, args)
}

fn report(rows: &[Row], args: &ConformanceArgs) -> Result<()> {
    println!("\n{:<28} {:>9} {:>11} {:>8} {:>10}", "", "JAX", "differences", "replica", "partition");
    for row in rows {
        let jax = row.jax.map_or("-".to_owned(), |error| format!("{error:.1e}"));
        let smooth = row.smooth.map_or("-".to_owned(), |n| n.to_string());
        let [replica, partition] = row.partitioned.map(|n| format!("{n}/{}", args.shardings));
        println!("{:<28} {jax:>9} {smooth:>11} {replica:>8} {partition:>10}", row.name);
    }
    let count = |is: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    println!(
        "\n{} functions: {} agree with JAX's gradients, {} were compared with finite differences, {} agree with one device in every partition that the back end can run",
        rows.len(),
        count(&|row| row.jax.is_some()),
        count(&|row| row.smooth.is_some()),
        count(&|row| {
            row.partitioned.iter().chain(&row.not_run).sum::<u64>() == 2 * args.shardings
                && row.wrong.is_empty()
        }),
    );
    for (i, (_, why)) in BACK_END.iter().enumerate() {
        let not_run: u64 = rows.iter().map(|row| row.not_run[i]).sum();
        if not_run > 0 {
            println!("   {not_run} shardings could not be run: the CPU back end {why}");
        }
    }
    let wrong: Vec<&String> = rows.iter().flat_map(|row| &row.wrong).collect();
    for line in &wrong {
        let line = if args.verbose { line } else { line.lines().next().unwrap_or_default() };
        println!("   {line}");
    }
    match wrong.len() {
        0 => Ok(()),
        n => bail!("{n} comparisons failed"),
    }
}

/// Two worker processes that compare one function after another: `worker` runs shardc, and `check` compares with JAX.
struct Lane<'a> {
    pairs: &'a Path,
    worker: Worker,
    check: Worker,
    /// The file to which the worker writes a gradient.
    out: PathBuf,
}

impl<'a> Lane<'a> {
    fn new(pairs: &'a Path, dir: &Path, program: PathBuf, python: PathBuf, tool: &Path) -> Result<Lane<'a>> {
        let script = dir.join("check_many.py");
        fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
        let tool = tool.to_owned();
        let make = move || {
            let mut command = Command::new(&program);
            command.env("XLA_FLAGS", xla_flags_for_gradients());
            command
        };
        let make_check = move || {
            let mut command = Command::new(&python);
            // Uses XLA's default flags, so that the comparison does not depend on flags of the environment.
            command.arg(&script).arg(&tool).env("JAX_PLATFORMS", "cpu").env_remove("XLA_FLAGS");
            command.env("TF_CPP_MIN_LOG_LEVEL", "3");
            command
        };
        Ok(Lane {
            pairs,
            worker: Worker::new(make, dir.join("worker.log"), LIMIT),
            check: Worker::new(make_check, dir.join("check.log"), LIMIT),
            out: dir.join("gradient.mlir"),
        })
    }

    fn function(&mut self, name: &str, args: &ConformanceArgs) -> Result<Row> {
        let mut row = Row { name: name.to_owned(), ..Row::default() };
        let step = |step: &str| json!({"kind": "gradient", "dir": self.pairs, "name": name, "step": step});
        let (mut write, derivatives, partition) = (step("write"), step("derivatives"), step("partition"));
        write["out"] = json!(self.out);
        if self.done(&write, "differentiated", &mut row)?.is_some() {
            let reference = self.pairs.join(format!("{name}.grad.mlir"));
            match self.check.ask(&json!([reference, self.out, name]))? {
                Reply::Lost(how) => row.wrong.push(format!("{name}: compared with JAX: {how}")),
                Reply::Answer(answer) if answer["ok"] == true => row.jax = answer["max_err"].as_f64(),
                Reply::Answer(answer) => row.wrong.push(format!("{name}: compared with JAX: {answer}")),
            }
        }
        let answer = self.done(&derivatives, "compared with finite differences", &mut row)?;
        row.smooth = answer.and_then(|answer| answer["smooth"].as_u64());
        for (i, mode) in ["replica", "partition"].into_iter().enumerate() {
            for number in 0..args.shardings {
                let mut job = partition.clone();
                let seed = args.seed.wrapping_mul(1_000_000).wrapping_add(500_000 * i as u64 + number);
                (job["mode"], job["seed"]) = (json!(mode), json!(seed));
                let what = format!("partitioned ({mode}, seed {seed})");
                if self.done(&job, &what, &mut row)?.is_some() {
                    row.partitioned[i] += 1;
                }
            }
        }
        Ok(row)
    }

    /// Runs a job in the worker. Returns the answer if all results are equal; otherwise records the failure in `row` and returns `None`.
    fn done(&mut self, job: &Value, what: &str, row: &mut Row) -> Result<Option<Value>> {
        let (outcome, message) = match self.worker.ask(job)? {
            Reply::Answer(answer) if answer["outcome"] == "equal" => return Ok(Some(answer)),
            Reply::Answer(answer) => {
                let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
                (text("outcome"), text("said"))
            }
            Reply::Lost(how) => ("crashed".to_owned(), how),
        };
        if let Some(i) = BACK_END.iter().position(|(pattern, _)| message.contains(pattern)) {
            row.not_run[i] += 1;
            return Ok(None);
        }
        row.wrong.push(format!("{}: {what}: {outcome}: {message}", row.name));
        Ok(None)
    }
}
