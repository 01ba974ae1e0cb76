//! Compares the time of propagation with Shardy's, and measures how it grows with the program and with the mesh.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    BenchArgs, Seconds, announce, files,
    generate::{Shape, program},
    json_member, median, milliseconds, print_stages, seconds,
    shardy::Peer,
};
use xtask::{
    process,
    workspace::{Workspace, cargo},
};

const LARGE: [&str; 2] =
    ["corpus/jax/llama7b_32l_fsdp_tp_train.mlir", "corpus/jax/llama70b_80l_fsdp_tp_train.mlir"];
const STAGES: [&str; 6] = ["read", "parse", "import", "inline", "propagate", "print"];

/// Numbers of operations of the programs that are generated for the mesh [`MESH`]. The programs that are generated for the meshes with the
/// axis sizes in [`MESHES`] have [`SIZE`] operations.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const MESHES: [(usize, usize); 4] = [(4, 2), (8, 8), (32, 32), (256, 256)];
/// The axis sizes of the mesh of the programs with the numbers of operations in [`SIZES`].
const MESH: (usize, usize) = (4, 2);
const SIZE: usize = 10_000;

pub(super) fn run(workspace: &Workspace, args: &BenchArgs, python: &Path) -> Result<()> {
    let dir = workspace.scratch("bench")?;
    process::step("build propagation, optimized", || {
        process::run(bench(workspace).args(["--no-run", "--quiet"]))
    })?;
    let peer = Peer::new(workspace, &dir)?;
    for file in files(workspace, args, &LARGE) {
        announce(&file, args.runs, "propagate");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..args.runs {
            ours.push(Run::of(workspace, &file)?.seconds);
            theirs.push(peer.seconds(python, &file)?);
        }
        print_stages("shardc", &ours, &STAGES);
        print_stages("Shardy", &theirs, &STAGES);
        let (us, them) = (milliseconds(&ours, "propagate"), milliseconds(&theirs, "propagate"));
        println!("  propagation only: shardc is {:.1} times as fast as Shardy", them / us);
    }
    if !args.files.is_empty() {
        return Ok(());
    }
    for shape in Shape::ALL {
        let title = format!("generated programs, `{}`, on {} x {} devices", shape.name(), MESH.0, MESH.1);
        growth(workspace, args, &dir, &title, &SIZES.map(|size| (shape, size, MESH)))?;
    }
    let title = "one generated program, `layers`, on meshes of two axes";
    growth(workspace, args, &dir, title, &MESHES.map(|mesh| (Shape::Layers, SIZE, mesh)))
}

/// Measures generated programs in turns, and prints a line for each.
fn growth(
    workspace: &Workspace,
    args: &BenchArgs,
    dir: &Path,
    title: &str,
    programs: &[(Shape, usize, (usize, usize))],
) -> Result<()> {
    println!("\n{title} ({} alternating runs each)", args.runs);
    println!(
        "  {:>10} {:>10} {:>14} {:>12} {:>14} {:>16}",
        "devices", "operations", "propagate", "per op", "visits per op", "memory per op"
    );
    let file = |number: usize| -> PathBuf { dir.join(format!("generated_{number}.mlir")) };
    for (number, &(shape, size, mesh)) in programs.iter().enumerate() {
        let file = file(number);
        fs::write(&file, program(shape, size, mesh))
            .with_context(|| format!("writing {}", file.display()))?;
    }
    let mut runs: Vec<Vec<Run>> = programs.iter().map(|_| Vec::new()).collect();
    for _ in 0..args.runs {
        for (number, runs) in runs.iter_mut().enumerate() {
            runs.push(Run::of(workspace, &file(number))?);
        }
    }
    let mut per_op = Vec::new();
    for (&(_, _, (data, model)), runs) in programs.iter().zip(&runs) {
        let of = |what: &dyn Fn(&Run) -> f64| median(runs.iter().map(what));
        let time = of(&|run| run.seconds.get("propagate").copied().unwrap_or(f64::NAN));
        let operations = of(&|run| run.operations);
        per_op.push(time / operations);
        println!(
            "  {:>10} {operations:>10} {:>11.2} ms {:>9.0} ns {:>14.2} {:>10.0} bytes",
            data * model,
            1e3 * time,
            1e9 * time / operations,
            of(&|run| run.visits) / operations,
            of(&|run| run.bytes) / operations,
        );
    }
    let most = per_op.iter().copied().fold(f64::MIN, f64::max);
    let least = per_op.iter().copied().fold(f64::MAX, f64::min);
    println!("  time per operation: the largest is {:.2} times the smallest", most / least);
    for number in 0..programs.len() {
        let _ = fs::remove_file(file(number));
    }
    Ok(())
}

/// The measurements of propagating a program once.
struct Run {
    seconds: Seconds,
    operations: f64,
    visits: f64,
    /// Bytes that propagation needs in addition to the module.
    bytes: f64,
}

impl Run {
    fn of(workspace: &Workspace, file: &Path) -> Result<Run> {
        let file = fs::canonicalize(file).with_context(|| format!("looking for {}", file.display()))?;
        let json = process::output(bench(workspace).args(["--quiet", "--"]).arg(file))?;
        let number = |name| json_member(&json, name).map(|value: Value| value.as_f64().unwrap_or(f64::NAN));
        Ok(Run {
            seconds: seconds(json_member(&json, "seconds")?)?,
            operations: number("ops")?,
            visits: number("visits")?,
            bytes: number("bytes")?,
        })
    }
}

fn bench(workspace: &Workspace) -> Command {
    let mut command = cargo();
    command.current_dir(&workspace.root).args([
        "bench",
        "--package",
        "shardc-analysis",
        "--bench",
        "propagate",
    ]);
    command
}
