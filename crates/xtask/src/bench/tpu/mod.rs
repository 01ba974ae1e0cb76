//! What the TPU compiler says of our partition of a program, beside XLA's own partition of it.
//!
//! Both are compiled for the same slice, which need not exist. XLA gets the annotated file and partitions it itself; ours
//! is partitioned by `shardc partition` first. Compiling takes minutes for large programs, so what the compiler said of a
//! program is kept under the target directory, by the program's text.

mod closed_form;
mod compile;
mod table;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use shardc_filetest::program;

use self::{
    closed_form::closed_form,
    compile::{Compiler, Verdict},
};
use super::{BenchArgs, shared};
use crate::{process, python, setup, workspace::Workspace};

/// Folders of the corpus, and how XLA is to read the annotations of their programs.
const FOLDERS: [(&str, &str); 2] = [("jax", "shardy"), ("torch_xla", "gspmd")];

/// The file that the table belongs to.
const PAGE: &str = "docs/QUALITY.md";

/// A program to compare.
struct Subject {
    name: String,
    file: PathBuf,
    /// How XLA reads its annotations.
    mode: &'static str,
    /// As the corpus says: `dp`, `fsdp`, ...
    strategy: String,
}

/// How the two sides compare.
struct Row {
    name: String,
    topology: &'static str,
    ours: Side,
    xla: Side,
    /// Bytes that the strategy needs to send, where it has a closed form.
    closed_form: Option<f64>,
}

/// What came of one side: the compiler's verdict, or why there is none.
type Side = Result<Verdict, String>;

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let tool = shared(workspace).join("tools/tpu_compile.py");
    ensure!(tool.is_file(), "{} is not there: it compiles for TPUs", tool.display());
    let python = python::with_jax(workspace, args.python.as_deref())?;
    ensure!(
        python::version_of(&python, "libtpu").is_some(),
        "{} has no TPU compiler: `{0} -m pip install libtpu`",
        python.display()
    );
    setup::run(false)?;
    let shardc = process::step("build shardc", program::shardc)?;
    let dir = workspace.scratch("tpu")?;
    let compiler = Compiler::new(&python, &tool, &dir)?;
    let mut rows = Vec::new();
    for subject in subjects(workspace, args)? {
        if let Some(row) = compare(&subject, &shardc, &compiler, &dir)? {
            println!("{}", table::line(&row));
            rows.push(row);
        }
    }
    let page = table::page(&rows);
    println!("\n{page}");
    if args.update {
        let file = workspace.root.join(PAGE);
        table::replace(&file, &page)?;
        println!("written to {}", file.display());
    }
    Ok(())
}

/// The named programs; else those of the corpus that are too large to run on one machine.
fn subjects(workspace: &Workspace, args: &BenchArgs) -> Result<Vec<Subject>> {
    let mut out = Vec::new();
    let mut found = BTreeMap::new();
    for (folder, mode) in FOLDERS {
        let dir = shared(workspace).join("corpus").join(folder);
        let manifest = dir.join("manifest.json");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let json: Value =
            serde_json::from_str(&text).with_context(|| format!("reading {}", manifest.display()))?;
        for program in json["programs"].as_array().into_iter().flatten() {
            let text = |key: &str| program[key].as_str().unwrap_or_default().to_owned();
            let subject = Subject {
                name: text("name"),
                file: dir.join(text("file")),
                mode,
                strategy: text("strategy"),
            };
            if args.files.is_empty() && program["executable"] != true {
                out.push(subject);
            } else {
                found.insert(subject.name.clone(), subject);
            }
        }
    }
    for file in &args.files {
        let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let known = found.remove(&name);
        let is_file = file.is_file();
        ensure!(is_file || known.is_some(), "{} is no file and no program of the corpus", file.display());
        out.push(match known {
            Some(known) if !is_file => known,
            known => Subject {
                name,
                file: file.clone(),
                mode: "shardy",
                strategy: known.map(|subject| subject.strategy).unwrap_or_default(),
            },
        });
    }
    Ok(out)
}

/// Compiles both sides; `None` where no slice has so many devices.
fn compare(subject: &Subject, shardc: &Path, compiler: &Compiler, dir: &Path) -> Result<Option<Row>> {
    let Subject { name, file, .. } = subject;
    let (program, manifest) = (dir.join("ours.mlir"), dir.join("ours.json"));
    let mut partition = Command::new(shardc);
    partition.arg("partition").arg(file).arg("-o").arg(&program).arg("--manifest").arg(&manifest);
    let done = partition.output().with_context(|| format!("starting {}", process::shown(&partition)))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_owned();
        println!("{name}: shardc does not partition it: {said}");
        return Ok(None);
    }
    let text = fs::read_to_string(&manifest).with_context(|| format!("reading {}", manifest.display()))?;
    let manifest: Value = serde_json::from_str(&text).context("reading the manifest")?;
    let devices = manifest["num_devices"].as_u64().unwrap_or(0);
    let Some(topology) = topology(devices) else {
        println!("{name}: no slice has {devices} devices");
        return Ok(None);
    };
    Ok(Some(Row {
        name: name.clone(),
        topology,
        xla: compiler.compile(topology, subject.mode, file)?,
        ours: compiler.compile(topology, "replica", &program)?,
        closed_form: closed_form(name, &subject.strategy, &manifest),
    }))
}

/// A slice of this many devices.
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
