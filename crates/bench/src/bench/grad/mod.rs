//! Compares the costs of shardc's and JAX's gradients of the same functions. The costs are those that XLA's CPU compiler reports, or with
//! `--tpu` ([`tpu`]), the TPU compiler. Also measures the time to differentiate a large model.
//!
//! The functions and JAX's gradients are in the shared data. `shardc grad` differentiates each function. One client compiles both gradients
//! with the same options and reports their costs. shardc rematerializes the same values as JAX.

mod step;
mod tpu;

use std::{fmt::Write as _, fs, path::Path, process::Command, time::Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use shardc_autodiff::{Derivative, Request};
use shardc_filetest::program;
use shardc_runtime::{
    Client, ClientOptions, CompileOptions,
    plugin::{Environment, Plugin, PluginKind, find},
};

pub(super) use self::tpu::run as run_tpu;
use super::{
    BenchArgs, generate, median,
    page::{self, Compared},
    shared,
};
use xtask::{process, setup, workspace::Workspace};

/// Upper bound of the ratio of a quantity of shardc's gradient to the same quantity of JAX's gradient.
const BOUND: f64 = 1.05;

/// Number of operations of the model whose differentiation is timed.
const OPERATIONS: usize = 30_000;

/// Upper bound of the time to differentiate the model of [`OPERATIONS`] operations, in seconds.
const SECONDS: f64 = 0.2;

/// The compared quantities, in the order of the table's columns.
const QUANTITIES: [&str; 3] = ["flops", "bytes accessed", "bytes of temporaries"];

/// The comparison of a function's two gradients, or the reason why they cannot be compared.
struct Row {
    name: String,
    outcome: Result<Costs, String>,
}

/// The quantities of shardc's and of JAX's gradient; NaN if the compiler does not report one.
struct Costs {
    ours: Vec<f64>,
    jax: Vec<f64>,
}

impl Costs {
    /// Returns the ratios of shardc's quantities to JAX's. A ratio is `None` if only shardc's quantity is zero, or if one of the two
    /// quantities is unknown.
    fn ratios(&self) -> Vec<Option<f64>> {
        let ratio = |(&ours, &jax): (&f64, &f64)| match (ours, jax) {
            (ours, jax) if ours == jax => Some(1.0),
            // A ratio of zero is excluded from the geometric mean, and exceeds no bound.
            (0.0, _) => None,
            (ours, jax) => Some(ours / jax).filter(|ratio| !ratio.is_nan()),
        };
        self.ours.iter().zip(&self.jax).map(ratio).collect()
    }

    fn worst(&self) -> f64 {
        self.ratios().into_iter().flatten().fold(0.0, f64::max)
    }
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let data = shared(workspace).join("gradients");
    setup::run(&[])?;
    let shardc = process::step("build shardc", program::shardc)?;
    let dir = workspace.scratch("grad")?;
    let plugin = find(PluginKind::Cpu, &Environment::from_process())?;
    let client = Client::new(&Plugin::load(&plugin.path)?, ClientOptions::default())?;
    let mut rows = Vec::new();
    for (name, function) in functions(&data, args, |_| true)? {
        let outcome = compare(&function, &data, &shardc, &dir, &|file: &Path| cost(&client, file))
            .with_context(|| format!("comparing the gradients of {name}"))?;
        let row = Row { name, outcome };
        println!("{}", line(&row, &QUANTITIES));
        rows.push(row);
    }
    rows.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let table = table("function", &rows, &QUANTITIES, &[speed(args.runs)?]);
    println!("\n{table}");
    if args.update {
        page::update(workspace, "--only grad", &table)?;
    }
    Ok(())
}

/// Returns the functions that the command line names, by default those for which `is_default` holds, each with its entry in the manifest.
fn functions(
    data: &Path,
    args: &BenchArgs,
    is_default: impl Fn(&Value) -> bool,
) -> Result<Vec<(String, Value)>> {
    let manifest = data.join("manifest.json");
    let text = fs::read_to_string(&manifest).with_context(|| {
        format!(
            "cannot read {}: the functions must be in `shared/gradients` next to the checkout, or in the folder SHARDC_SHARED",
            manifest.display()
        )
    })?;
    let manifest: Value = serde_json::from_str(&text).context("parsing the manifest of functions")?;
    let mut out = Vec::new();
    for function in manifest["programs"].as_array().context("the manifest has no `programs`")? {
        let name = function["name"].as_str().context("a function in the manifest has no `name`")?;
        if args.wants(name, || is_default(function)) {
            out.push((name.to_owned(), function.clone()));
        }
    }
    Ok(out)
}

/// The quantities that the compiler reports for a program, or the reason for which it rejects the program.
type Cost = Result<Vec<f64>, String>;

/// Differentiates a function, and analyzes both gradients.
fn compare(
    function: &Value,
    data: &Path,
    shardc: &Path,
    dir: &Path,
    cost: &dyn Fn(&Path) -> Result<Cost>,
) -> Result<Result<Costs, String>> {
    let file = |key: &str| {
        function[key]
            .as_str()
            .map(|name| data.join(name))
            .context("a function in the manifest has no program file")
    };
    let arguments = function["args"].as_array().context("a function in the manifest has no `args`")?;
    let wrt: Vec<String> = (arguments.iter().enumerate())
        .filter(|(_, argument)| argument["differentiated"] == true)
        .map(|(i, _)| format!("arg{i}"))
        .collect();
    let output = dir.join("ours.mlir");
    let mut grad = Command::new(shardc);
    grad.arg("grad").arg(file("forward")?).arg("--wrt").arg(wrt.join(",")).arg("--value");
    grad.args(policy(&file("forward")?, &file("gradient")?)?);
    let done = grad
        .arg("-o")
        .arg(&output)
        .output()
        .with_context(|| format!("starting {}", process::shown(&grad)))?;
    if !done.status.success() {
        let error = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_owned();
        return Ok(Err(format!("shardc cannot differentiate the function: {error}")));
    }
    both(cost, &output, &file("gradient")?)
}

/// Analyzes both gradients. The inner error describes which of them the compiler rejects, and the reason.
fn both(cost: &dyn Fn(&Path) -> Result<Cost>, ours: &Path, jax: &Path) -> Result<Result<Costs, String>> {
    Ok(match (cost(ours)?, cost(jax)?) {
        (Ok(ours), Ok(jax)) => Ok(Costs { ours, jax }),
        (Ok(_), Err(why)) => Err(format!("JAX's program does not compile, but shardc's does: {why}")),
        (Err(why), Ok(_)) => Err(format!("shardc's program does not compile, but JAX's does: {why}")),
        (Err(why), Err(_)) => Err(format!("neither program compiles: {why}")),
    })
}

/// The name of a loop body in JAX's output.
const LOOP_BODY: &str = "closed_call";

/// Returns the options of `shardc grad` for the rematerialization policy of JAX's gradient. If JAX's gradient has a barrier, values are
/// rematerialized: in loop bodies if the function has loops, otherwise everywhere.
fn policy(forward: &Path, gradient: &Path) -> Result<Vec<&'static str>> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
    let mut policy = Vec::new();
    if read(gradient)?.contains("stablehlo.optimization_barrier") {
        policy.extend(["--checkpoint", "nothing"]);
        if read(forward)?.contains(&format!("func private @{LOOP_BODY}(")) {
            policy.extend(["--layers", LOOP_BODY]);
        }
    }
    Ok(policy)
}

/// The quantities that XLA's CPU compiler reports for a program.
fn cost(client: &Client, file: &Path) -> Result<Cost> {
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let compiled = match client.compile(&text, &CompileOptions::replicas(1)) {
        Ok(compiled) => compiled,
        Err(error) => return Ok(Err(error.to_string().lines().next().unwrap_or_default().to_owned())),
    };
    let (cost, memory) = (compiled.cost()?, compiled.memory_stats()?);
    Ok(Ok(vec![cost.flops, cost.bytes_accessed, memory.temp_bytes as f64]))
}

/// Returns a line with the time to differentiate a large model with respect to all of its arguments.
fn speed(runs: usize) -> Result<String> {
    let text = generate::program(generate::Shape::Layers, OPERATIONS, (1, 1));
    let first_error = |errors: &[shardc_ir::Diagnostic]| {
        anyhow!("{}", errors.first().map_or_else(String::new, |error| error.message.clone()))
    };
    let read = shardc_stablehlo::parse(&text).map_err(|errors| first_error(&errors))?;
    let operations: usize = read.bodies().map(|body| read.walk(body).len()).sum();
    let func = read.entry().context("the generated model has no entry function")?;
    let wrt: Vec<usize> = (0..read.funcs[func].params.len()).collect();
    let request = Request::new(Derivative::Vjp, &wrt, &[0]).with_value();
    let mut seconds = Vec::new();
    for _ in 0..runs {
        let mut module = read.clone();
        let start = Instant::now();
        shardc_autodiff::differentiate(&mut module, func, &request).map_err(|errors| first_error(&errors))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(seconds.into_iter());
    ensure!(seconds.is_finite(), "no time was measured");
    let profile = if cfg!(debug_assertions) { ", in a debug build" } else { "" };
    Ok(format!(
        "a model of {operations} operations is differentiated with respect to its {} arguments in {}{profile}; bound {}",
        wrt.len(),
        page::three_digits(seconds, UNITS),
        page::three_digits(SECONDS, UNITS),
    ))
}

const UNITS: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3)];

fn worst(row: &Row) -> f64 {
    row.outcome.as_ref().map_or(f64::INFINITY, Costs::worst)
}

/// The ratios of a function as cells of the table.
fn cells(costs: &Costs) -> Vec<String> {
    let cell = |ratio: Option<f64>| ratio.map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.3}"));
    costs.ratios().into_iter().map(cell).collect()
}

/// The comparison of a function as one line for the terminal.
fn line(Row { name, outcome }: &Row, quantities: &[&str]) -> String {
    match outcome {
        Ok(costs) => {
            let cells = cells(costs);
            let comparisons: Vec<String> =
                (quantities.iter().zip(&cells).zip(costs.ours.iter().zip(&costs.jax)))
                    .map(|((quantity, ratio), (ours, jax))| format!("{quantity} {ratio} ({ours} / {jax})"))
                    .collect();
            format!("{name}: {}", comparisons.join(", "))
        }
        Err(why) => format!("{name}: {why}"),
    }
}

/// A table of ratios in Markdown, followed by their means, the programs above the bound, and `lines`.
fn table(what: &str, rows: &[Row], quantities: &[&str], lines: &[String]) -> String {
    let rule = "---|".repeat(quantities.len());
    let mut out = format!("| {what} | {} |\n|---|{rule}\n", quantities.join(" | "));
    let mut missing = lines.to_vec();
    for row in rows {
        match &row.outcome {
            Ok(costs) => {
                let _ = writeln!(out, "| `{}` | {} |", row.name, cells(costs).join(" | "));
            }
            Err(why) => missing.push(format!("`{}`: {why}", row.name)),
        }
    }
    let compared = quantities.iter().enumerate().map(|(i, quantity)| {
        let ratio = |row: &'_ Row| row.outcome.as_ref().ok().and_then(|costs| costs.ratios()[i]);
        let ratios = rows.iter().filter_map(|row| Some((ratio(row)?, row.name.as_str()))).collect();
        Compared { quantity, ratios, bound: BOUND }
    });
    out.push_str(&page::under("JAX's", &compared.collect::<Vec<_>>(), &missing));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_cost_of_both_has_the_ratio_one() {
        let costs = Costs { ours: vec![3.0, 0.0, 0.0, f64::NAN], jax: vec![2.0, 0.0, 8.0, f64::NAN] };
        assert_eq!(costs.ratios(), [Some(1.5), Some(1.0), None, None]);
        assert_eq!(costs.worst(), 1.5);
    }

    #[test]
    fn skipped_programs_are_listed_under_the_table() {
        let rows = [
            Row {
                name: "a".to_owned(),
                outcome: Ok(Costs { ours: vec![2.0, 1.0, 1.0], jax: vec![1.0, 1.0, 1.0] }),
            },
            Row { name: "b".to_owned(), outcome: Err("why".to_owned()) },
        ];
        let table = table("function", &rows, &QUANTITIES, &["fast".to_owned()]);
        assert!(table.contains("| `a` | 2.000 | 1.000 | 1.000 |"), "{table}");
        assert!(table.contains("* `b`: why") && table.contains("* fast"), "{table}");
    }
}
