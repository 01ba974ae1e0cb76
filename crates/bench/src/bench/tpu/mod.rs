//! Compares the TPU compiler's results for shardc's partition of a program with those for XLA's own partition.
//!
//! Both partitions are compiled for the same TPU slice, which need not be present. XLA partitions the annotated file itself; the other
//! program is the output of `shardc partition` for this file. Large programs compile for minutes, so the compiler's results are cached in
//! the target folder, keyed by the program's text.

mod closed_form;
mod compile;
mod table;

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use shardc_filetest::program;

use self::{
    closed_form::closed_form,
    compile::{Compiler, Verdict},
};
use super::{
    BenchArgs,
    corpus::{Subject, subjects},
    page, shared,
};
use xtask::{process, python, setup, workspace::Workspace};

/// The comparison of one program.
struct Row {
    name: String,
    topology: &'static str,
    ours: Side,
    xla: Side,
    /// Bytes that the strategy has to send, if it has a closed form.
    closed_form: Option<f64>,
}

/// The compiler's results for one partition, or the reason for which it rejects the program.
type Side = Result<Verdict, String>;

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let tool = shared(workspace).join("tools/tpu_compile.py");
    ensure!(tool.is_file(), "cannot find {}, which is needed to compile for TPUs", tool.display());
    let python = python::with_jax(args.python.as_deref())?;
    ensure!(
        python::version_of(&python, "libtpu").is_some(),
        "{} has no TPU compiler; install it with `{0} -m pip install libtpu`",
        python.display()
    );
    setup::run(&[])?;
    let shardc = process::step("build shardc", program::shardc)?;
    let dir = workspace.scratch("tpu")?;
    let compiler = Compiler::new(&python, &tool, &dir)?;
    let mut rows = Vec::new();
    // By default, programs that can be executed on the CPU are excluded: `--only step` times them.
    for subject in subjects(workspace, args, |program| program["executable"] != true)? {
        if let Some(row) = compare(&subject, &shardc, &compiler, &dir)? {
            println!("{}", table::line(&row));
            rows.push(row);
        }
    }
    let table = table::page(&rows);
    println!("\n{table}");
    if args.update {
        page::update(workspace, "--tpu", &table)?;
    }
    Ok(())
}

/// Compiles both partitions. Returns `None` if shardc cannot partition the program, or if no slice has its number of devices.
fn compare(subject: &Subject, shardc: &Path, compiler: &Compiler, dir: &Path) -> Result<Option<Row>> {
    let Subject { name, file, .. } = subject;
    let (program, manifest) = (dir.join("ours.mlir"), dir.join("ours.json"));
    let partitioned = dir.join("partitioned.mlir");
    let mut partition = Command::new(shardc);
    partition.arg("partition").arg(file).arg("-o").arg(&partitioned).arg("--manifest").arg(&manifest);
    let done = partition.output().with_context(|| format!("starting {}", process::shown(&partition)))?;
    if !done.status.success() {
        let error = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_owned();
        println!("{name}: shardc cannot partition the program: {error}");
        return Ok(None);
    }
    // Produces the program that `shardc compile` passes to the compiler.
    let mut legalize = Command::new(shardc);
    legalize
        .arg("opt")
        .arg(&partitioned)
        .args(["--passes", "legalize-backend{target=tpu}", "-o"])
        .arg(&program);
    process::output(&mut legalize)?;
    let text = fs::read_to_string(&manifest).with_context(|| format!("reading {}", manifest.display()))?;
    let manifest: Value = serde_json::from_str(&text).context("reading the manifest")?;
    let devices = manifest["num_devices"].as_u64().unwrap_or(0);
    let Some(topology) = topology(devices) else {
        println!("{name}: no TPU slice has {devices} devices");
        return Ok(None);
    };
    let xla = compiler.compile(topology, subject.mode, file, devices)?;
    let ours = compiler.compile(topology, "replica", &program, devices)?;
    let closed_form = closed_form(name, &subject.strategy, &manifest);
    Ok(Some(Row { name: name.clone(), topology, xla, ours, closed_form }))
}

/// Returns the name of a TPU slice with `devices` devices, or `None` if there is no such slice.
fn topology(devices: u64) -> Option<&'static str> {
    match devices {
        4 => Some("v5e:2x2"),
        8 => Some("v5e:2x4"),
        16 => Some("v5e:4x4"),
        32 => Some("v5e:4x8"),
        64 => Some("v5e:8x8"),
        _ => None,
    }
}
