//! Bytes sent by each program, and the device memory that it needs. The files of `sent/` record both figures, so that a change to planning
//! is visible as a diff. `SHARDC_BLESS=1` rewrites the files. Each training step runs with a sample of the strategies.
//!
//! Programs with annotations and training steps come from the shared data; without it the tests are skipped, and fail under
//! `SHARDC_REQUIRE=shared`. Steps of real size are printed by JAX from `data/real_steps.py`. They need `SHARDC_PYTHON`, a Python with
//! jax, and are likewise skipped or fail under `SHARDC_REQUIRE=python`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::{env, fs};

use serde::Deserialize;
use shardc::{Compiler, Error, Output};
use shardc_ir::Module;
use shardc_passes::annotations::spec::MeshSpec;
use shardc_passes::cost::traffic::summarize;
use shardc_strategy::{RoleOverrides, Settings, apply, roles};
use shardc_tests::sample::{is_thorough, sample};
use shardc_tests::skip::{Need, skipped};
use shardc_tests::steps::STEPS;
use shardc_tests::{files, root, shared};

/// Strategies for training steps, in the syntax of the command line, and the mesh.
const STRATEGIES: &[(&str, &str)] = &[
    ("no_shard", "fsdp=8"),
    ("zero1", "fsdp=8"),
    ("shard_grad_op", "fsdp=8"),
    ("full_shard", "fsdp=8"),
    ("hybrid_shard", "node=2,fsdp=4"),
    ("full_shard", "data=2,model=4"),
    ("full_shard sequence_parallel", "data=2,model=4"),
    ("full_shard", "data=2,context=4"),
];

#[test]
fn programs_with_annotations() {
    let Some(folder) = shared() else {
        return skipped(Need::Shared, "programs of the shared data, which is not here").unwrap();
    };
    for (from, listed) in [("jax", "jax.txt"), ("torch_xla", "torch_xla.txt")] {
        let mut lines = String::new();
        for path in files(&folder.join("corpus").join(from), "mlir").unwrap() {
            let module = Compiler::read(&fs::read(&path).unwrap()).unwrap();
            line(&mut lines, &path.file_stem().unwrap().to_string_lossy(), module);
        }
        check(listed, &lines, false);
    }
}

#[test]
fn training_steps() {
    let Some(folder) = shared() else {
        return skipped(Need::Shared, "training steps of the shared data, which is not here").unwrap();
    };
    let mut lines = String::new();
    let mut first = 0..;
    let mut strategies = || match is_blessed() {
        true => STRATEGIES.to_vec(),
        false => sample(STRATEGIES.iter().copied(), first.next().unwrap_or_default(), 3).collect(),
    };
    for path in files(&folder.join("unsharded"), "mlir").unwrap() {
        let step = Compiler::read(&fs::read(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        split(&mut lines, &name, &strategies(), |_| step.clone());
    }
    for step in STEPS {
        split(&mut lines, &format!("own {}", step.name), &strategies(), |mesh| step.on(mesh).module);
    }
    check("training_steps.txt", &lines, !is_thorough());
}

/// A step of real size, and the role of each argument.
#[derive(Deserialize)]
struct Step {
    text: String,
    roles: Vec<String>,
}

/// The tested steps of `data/real_steps.py`. Testing all its steps would take minutes.
const REAL_STEPS: &[&str] = &[
    "dlrm",
    "fno",
    "hyena",
    "llama_muon",
    "mamba",
    "moe_sort",
    "nerf",
    "perceiver",
    "ppo_gae",
    "rwkv",
    "t5",
    "vit_large",
];

#[test]
fn steps_of_real_size() {
    let Some(python) = env::var_os("SHARDC_PYTHON") else {
        return skipped(Need::Python, "SHARDC_PYTHON names no Python with jax").unwrap();
    };
    let script = root().join("tests/data/real_steps.py");
    let output =
        Command::new(python).arg(script).args(REAL_STEPS).env("JAX_PLATFORMS", "cpu").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let steps: BTreeMap<String, Step> = serde_json::from_slice(&output.stdout).unwrap();
    let mut lines = String::new();
    for (name, step) in &steps {
        let module = Compiler::read(step.text.as_bytes()).unwrap();
        let found = roles(&module, &RoleOverrides::default()).unwrap();
        let found: Vec<&str> = found.arguments.iter().map(|argument| argument.role.as_str()).collect();
        assert_eq!(found, step.roles, "{name}");
        split(&mut lines, name, &[("full_shard", "fsdp=8")], |_| module.clone());
    }
    check("real_steps.txt", &lines, false);
}

/// Adds a line for each strategy.
fn split(lines: &mut String, name: &str, strategies: &[(&str, &str)], step: impl Fn(&str) -> Module) {
    for (words, mesh) in strategies {
        let mut step = step(mesh);
        let roles = roles(&step, &RoleOverrides::default()).unwrap();
        let settings = Settings::from_words(words).unwrap();
        let (name, mesh) = (format!("{name} {words} {mesh}"), mesh.parse::<MeshSpec>().unwrap().to_mesh());
        match apply(&mut step, &roles, &settings, &mesh) {
            Ok(_) => line(lines, &name, step),
            Err(why) => writeln!(lines, "{name}: is refused: {}", why[0].code).unwrap(),
        }
    }
}

/// Adds the bytes that a program sends by each kind of collective, and the memory that a device needs.
fn line(lines: &mut String, name: &str, module: Module) {
    let what = match Compiler::new().partition_module(module) {
        Ok(output) => summary(&output),
        Err(Error::Diagnostics(why)) => format!("is refused: {}", why[0].code),
        Err(error) => panic!("{name}: {error}"),
    };
    writeln!(lines, "{name}: {what}").unwrap();
}

fn summary(output: &Output) -> String {
    let kinds = summarize(&output.module);
    let sent: u64 = kinds.iter().map(|kind| kind.bytes_in_run).sum();
    let mut text = format!("sends {sent}, needs {}", output.memory().peak);
    for kind in &kinds {
        write!(text, ", {} {}", kind.runs, kind.kind).unwrap();
    }
    text
}

/// Whether the test rewrites its files.
fn is_blessed() -> bool {
    env::var_os("SHARDC_BLESS").is_some()
}

/// Compares the lines with a file, or rewrites the file if requested. If `is_sample`, the file may have lines of more programs.
fn check(file: &str, lines: &str, is_sample: bool) {
    let path = root().join("sent").join(file);
    if is_blessed() {
        return fs::write(&path, lines).unwrap();
    }
    let name = |line: &str| line.split_once(": ").map(|(name, _)| name.to_owned());
    let ran: BTreeSet<_> = lines.lines().map(name).collect();
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let listed: Vec<&str> = listed.lines().filter(|line| !is_sample || ran.contains(&name(line))).collect();
    let mut faults = String::new();
    for line in listed.iter().filter(|&&line| !lines.lines().any(|now| now == line)) {
        writeln!(faults, "- {line}").unwrap();
    }
    for line in lines.lines().filter(|line| !listed.contains(line)) {
        writeln!(faults, "+ {line}").unwrap();
    }
    assert!(faults.is_empty(), "tests/sent/{file} (SHARDC_BLESS=1 writes it anew):\n{faults}");
}
