//! `cargo xtask demo`: from a clean checkout to running a partitioned program.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    plugins::Plugin,
    process, setup,
    workspace::{Workspace, cargo},
};

/// The default program: one training step of a small Llama (forward, backward and optimizer), as printed by JAX, with weights sharded over
/// a mesh of 2 x 4 devices.
const PROGRAM: &str = "tests/programs/llama_tiny_fsdp_tp_train.mlir";

/// The program of the demo, and its devices.
#[derive(Args)]
pub struct DemoArgs {
    /// Also compile the program for a TPU v5e slice. This downloads the TPU compiler, and needs no TPU.
    #[arg(long)]
    tpu: bool,
    /// The annotated StableHLO program to partition.
    #[arg(long, default_value = PROGRAM)]
    program: PathBuf,
    /// The number of virtual devices that run the program; by default the size of its mesh.
    #[arg(long)]
    devices: Option<usize>,
}

/// Builds shardc, and partitions, verifies and optionally compiles a program with it.
pub fn run(workspace: &Workspace, args: &DemoArgs) -> Result<()> {
    let others: &[Plugin] = if args.tpu { &[Plugin::Tpu] } else { &[] };
    let shardc = process::step("build shardc", || build(workspace, false))?;
    process::step("setup", || setup::plugins(&shardc, others))?;
    let program = workspace.root.join(&args.program);
    let dir = workspace.scratch("demo")?;
    let (out, manifest) = (dir.join("partitioned.mlir"), dir.join("manifest.json"));

    process::step("partition", || {
        let mut command = Command::new(&shardc);
        command.arg("partition").arg(&program).arg("-o").arg(&out).arg("--manifest").arg(&manifest);
        process::run(&mut command)?;
        show(&program, &out, &manifest)
    })?;
    process::step("verify: compare the partitioned program with the original on virtual devices", || {
        let mut command = Command::new(&shardc);
        command.arg("verify").arg(&program);
        if let Some(devices) = args.devices {
            command.arg("--devices").arg(devices.to_string());
        }
        process::run(&mut command)
    })?;
    if args.tpu {
        process::step("compile for a TPU v5e slice of 2 x 4", || {
            let mut command = Command::new(&shardc);
            command
                .arg("compile")
                .arg(&program)
                .args(["--target", "tpu:v5e:2x4", "-o"])
                .arg(dir.join("step.tpu"));
            process::run(&mut command)
        })?;
    }
    println!("\nThe files are in {}.", dir.display());
    println!("For more commands, run: {} --help", shardc.display());
    Ok(())
}

/// Builds the `shardc` executable and returns its path.
pub fn build(workspace: &Workspace, release: bool) -> Result<PathBuf> {
    let mut command = cargo();
    command.current_dir(&workspace.root).args(["build", "--package", "shardc-cli", "--bin", "shardc"]);
    if release {
        command.arg("--release");
    }
    process::run(&mut command)?;
    Ok(workspace.program(release, "shardc"))
}

/// Prints the numbers of operations of the original and the partitioned program, the inserted collectives, and the shardings of the first
/// inputs.
fn show(program: &Path, out: &Path, manifest: &Path) -> Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
    let (before, after) = (read(program)?, read(out)?);
    println!(
        "\n{} operations before partitioning, {} after, including",
        operations(&before),
        operations(&after)
    );
    for (name, count) in collectives(&after) {
        println!("  {count:>5} {name}");
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&read(manifest)?).context("reading the manifest")?;
    println!("for {} devices. The first inputs:", manifest["num_devices"]);
    for (i, input) in manifest["inputs"].as_array().into_iter().flatten().take(5).enumerate() {
        println!(
            "  {:<24} {}{} is {} on each device, sharded by {}",
            input["name"].as_str().map_or_else(|| format!("argument {i}"), str::to_owned),
            input["dtype"].as_str().unwrap_or("?"),
            input["global_shape"],
            input["local_shape"],
            input["spec"]
        );
    }
    Ok(())
}

/// The number of operations with a result in a program's text.
fn operations(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with('%') && line.contains(" = ")).count()
}

/// The collectives of a partitioned program, counted by kind.
fn collectives(text: &str) -> BTreeMap<&'static str, usize> {
    const NAMES: [&str; 6] = [
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "collective_permute",
        "collective_broadcast",
    ];
    let count = |name: &str| text.matches(&format!("\"stablehlo.{name}\"")).count();
    NAMES.into_iter().map(|name| (name, count(name))).filter(|(_, n)| *n > 0).collect()
}
