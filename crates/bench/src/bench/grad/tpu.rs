//! Compares the costs of shardc's and JAX's gradients on a TPU, according to the TPU compiler's analysis for one device. Operations in a
//! loop body count once.
//!
//! Models are compared as functions. Training steps of realistic size are compared with copies in which shardc's gradients replace the
//! original gradients. No TPU is needed. The compiler's output is cached in the target folder, keyed by the program's text.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use shardc_filetest::program;

use super::{Cost, Costs, Row, both, compare, functions, line, step, table, worst};
use crate::bench::{BenchArgs, page, shared};
use xtask::{process, python, setup, workspace::Workspace};

/// The script that compiles a program and prints its costs.
const SCRIPT: &str = include_str!("../../../python/tpu_cost.py");

/// The compared quantities, in the order of the table's columns.
const QUANTITIES: [&str; 4] = ["flops", "bytes accessed", "bytes of temporaries", "cycles"];

/// A device with 16 GB of memory, and one with 95 GB for programs that do not fit into 16 GB.
const DEVICES: [&str; 2] = ["v5e:1x1", "v5p:1x1x1"];

/// The folders of training steps in the shared data, and the steps that are compared by default.
const STEPS: [(&str, &[&str]); 2] = [
    (
        "unsharded",
        &[
            "mlp_sgd",
            "llama_tiny",
            "lora_llama_tiny",
            "lstm_tiny",
            "vit_tiny_accum",
            "resnet_tiny",
            "unet_tiny",
            "gpt2_base",
        ],
    ),
    ("corpus/jax", &["llama7b_2l_fsdp_tp_train", "hf_resnet50_dp_train", "moe_mixtral_dims_einsum_train"]),
];

pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let shared = shared(workspace);
    let compiler = Compiler::new(workspace, args)?;
    setup::run(&[])?;
    let shardc = process::step("build shardc", program::shardc)?;
    let dir = workspace.scratch("grad-tpu")?;
    let data = shared.join("gradients");
    let mut models = Vec::new();
    for (name, function) in functions(&data, args, |function| function["kind"] == "model")? {
        let outcome = compare(&function, &data, &shardc, &dir, &|file: &Path| compiler.cost(file))
            .with_context(|| format!("comparing the gradients of {name}"))?;
        add_row(&mut models, Row { name, outcome });
    }
    let mut steps = Vec::new();
    for (folder, usual) in STEPS {
        for file in programs(&shared.join(folder))? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if args.wants(&name, || usual.contains(&name.as_str())) {
                let outcome = compare_step(&file, &shardc, &dir, &compiler)
                    .with_context(|| format!("comparing the step {name}"))?;
                add_row(&mut steps, Row { name, outcome });
            }
        }
    }
    models.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    steps.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let tables = [("function", models), ("training step", steps)]
        .iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(what, rows)| table(what, rows, &QUANTITIES, &[]))
        .collect::<Vec<_>>()
        .join("\n");
    println!("\n{tables}");
    if args.update {
        page::update(workspace, "--only grad --tpu", &tables)?;
    }
    Ok(())
}

fn add_row(rows: &mut Vec<Row>, row: Row) {
    println!("{}", line(&row, &QUANTITIES));
    rows.push(row);
}

/// The programs of a folder, sorted by name.
fn programs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry.with_context(|| format!("reading {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "mlir") {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

/// Replaces a step's gradient by shardc's, and compares the costs of both steps.
fn compare_step(
    file: &Path,
    shardc: &Path,
    dir: &Path,
    compiler: &Compiler,
) -> Result<Result<Costs, String>> {
    let (original, ours) = (dir.join("step.mlir"), dir.join("ours.mlir"));
    match step::write(file, shardc, dir, &original, &ours)? {
        Ok(()) => both(&|file: &Path| compiler.cost(file), &ours, &original),
        Err(why) => Ok(Err(why)),
    }
}

/// The TPU compiler, which runs in a script that prints its results as JSON.
struct Compiler {
    python: PathBuf,
    script: PathBuf,
    /// The folder of cached compiler outputs.
    dir: PathBuf,
    /// A hash of the script and the compiler's version, on which a cached output depends in addition to the program.
    version: u64,
}

impl Compiler {
    fn new(workspace: &Workspace, args: &BenchArgs) -> Result<Compiler> {
        let python = python::with_jax(args.python.as_deref())?;
        let libtpu = python::version_of(&python, "libtpu");
        ensure!(
            libtpu.is_some(),
            "{} has no TPU compiler; install it with `{0} -m pip install libtpu`",
            python.display()
        );
        let mut hasher = DefaultHasher::new();
        (SCRIPT, libtpu, python::version_of(&python, "jaxlib")).hash(&mut hasher);
        let dir = workspace.scratch("grad-tpu")?;
        let script = dir.join("tpu_cost.py");
        fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
        Ok(Compiler { python, script, dir, version: hasher.finish() })
    }

    /// The quantities that the compiler reports for the first device that the program fits on, or the reason for which it rejects the
    /// program.
    fn cost(&self, program: &Path) -> Result<Cost> {
        let mut cost = Err(String::new());
        for device in DEVICES {
            cost = read(&self.verdict(device, program)?)?;
            if !cost.as_ref().is_err_and(|why| why.contains("RESOURCE_EXHAUSTED")) {
                break;
            }
        }
        Ok(cost)
    }

    /// Returns the compiler's output for a program, from the cache if possible. An abort of the compiler is also cached.
    fn verdict(&self, device: &str, program: &Path) -> Result<String> {
        let text = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        let mut hasher = DefaultHasher::new();
        (self.version, device, text).hash(&mut hasher);
        let kept = self.dir.join(format!("{:016x}.json", hasher.finish()));
        if let Ok(json) = fs::read_to_string(&kept) {
            return Ok(json);
        }
        let mut command = Command::new(&self.python);
        // libtpu allows one process per TPU. The check is disabled, because compilation uses no TPU.
        command.env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1");
        command.arg(&self.script).arg(device).arg(program);
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        let json = if out.status.success() {
            String::from_utf8(out.stdout).context("reading the output of the TPU compiler")?
        } else {
            serde_json::json!({ "error": ended(&String::from_utf8_lossy(&out.stderr)) }).to_string()
        };
        fs::write(&kept, &json).with_context(|| format!("writing {}", kept.display()))?;
        Ok(json)
    }
}

/// The reason for which the compiler aborted, from its output: the failed check, or else the last line.
fn ended(stderr: &str) -> String {
    let check = stderr.lines().find_map(|line| line.split_once("Check failed: "));
    let last = || stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let why = check.map_or_else(last, |(_, why)| why);
    format!("the compiler exited: {why}")
}

fn read(json: &str) -> Result<Cost> {
    let output: Value = serde_json::from_str(json).context("parsing the output of the TPU compiler")?;
    if let Some(error) = output["error"].as_str() {
        return Ok(Err(error.lines().next().unwrap_or_default().to_owned()));
    }
    let number = |key: &str| {
        output[key].as_f64().with_context(|| format!("the output of the TPU compiler has no `{key}`"))
    };
    Ok(Ok(vec![
        number("flops")?,
        number("bytes")?,
        number("temp")?,
        output["cycles"].as_f64().unwrap_or(f64::NAN),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_numbers_or_a_reason() {
        let cost = read(r#"{"flops": 2, "bytes": 8, "temp": 0, "cycles": 5}"#).unwrap();
        assert_eq!(cost, Ok(vec![2.0, 8.0, 0.0, 5.0]));
        let cost = read(r#"{"flops": 2, "bytes": 8, "temp": 0, "cycles": null}"#).unwrap().unwrap();
        assert!(cost[3].is_nan());
        assert_eq!(read(r#"{"error": "out of memory\nmore"}"#).unwrap(), Err("out of memory".to_owned()));
        assert!(read(r#"{"flops": 2}"#).is_err());
    }

    #[test]
    fn a_failed_check_is_reported_as_the_cause() {
        let stderr =
            "W: dumping\nF1 a.cc:5] Check failed: pad == 0 no padding.\nE2 b.cc:7] RAW: Raising signal 6\n";
        assert_eq!(ended(stderr), "the compiler exited: pad == 0 no padding.");
        assert_eq!(ended("a\nb\n\n"), "the compiler exited: b");
    }
}
