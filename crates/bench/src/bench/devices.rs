//! Measures partitioning for increasing numbers of devices: time, peak memory and size of the partitioned program's text, with replica
//! groups as lists and as mesh axes.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use super::{BenchArgs, page, shared};
use xtask::{
    process,
    workspace::{Workspace, cargo},
};

/// Numbers of devices, as two axes of a mesh.
const MESHES: [[i64; 2]; 4] = [[8, 8], [64, 64], [256, 256], [1024, 1024]];

const LLAMA: &str = "corpus/jax/llama7b_2l_fsdp_tp_train.mlir";

/// The time, peak memory and text size measured in one partitioning of a program.
#[derive(Clone, Copy)]
struct Taken {
    seconds: f64,
    /// Peak memory of the process; 0 if the system does not report it.
    peak_bytes: f64,
    text_bytes: f64,
}

/// A program for each number of devices.
struct Subject {
    name: &'static str,
    /// For each number of devices, the file, and the mesh that replaces the file's own mesh, if any.
    files: Vec<(PathBuf, Option<String>)>,
}

/// Measures, prints the table, and writes it into the documentation if requested.
pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    process::step("build shardc, optimized", || {
        let build = ["build", "--release", "--package", "shardc-cli", "--bin", "shardc"];
        process::run(cargo().current_dir(&workspace.root).args(build))
    })?;
    let shardc = workspace.target.join("release").join(format!("shardc{}", std::env::consts::EXE_SUFFIX));
    let dir = workspace.scratch("bench")?;
    let mut table = String::from("| program | groups |");
    for [a, b] in MESHES {
        let _ = write!(table, " {} devices |", a * b);
    }
    table.push_str("\n|---|---|---:|---:|---:|---:|\n");
    for subject in subjects(workspace, &dir)? {
        for form in ["lists", "mesh-axes"] {
            let _ = write!(table, "| {} | {form} |", subject.name);
            for (file, mesh) in &subject.files {
                let mut runs = Vec::new();
                for _ in 0..args.runs {
                    runs.push(partition(&shardc, file, mesh.as_deref(), form, &dir)?);
                }
                let best = runs.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
                let cell = best.map(shown).unwrap_or_default();
                println!("{} {form} {}: {cell}", subject.name, mesh.as_deref().unwrap_or_default());
                let _ = write!(table, " {cell} |");
            }
            table.push('\n');
        }
    }
    println!("\n{table}");
    if args.update { page::update(workspace, "--only devices", &table) } else { Ok(()) }
}

/// Returns the training step of the shared corpus, if it is available, and two generated programs: an all-reduce over all devices, and a
/// shift along a dimension that is sharded over all devices.
fn subjects(workspace: &Workspace, dir: &Path) -> Result<Vec<Subject>> {
    let mut out = Vec::new();
    let llama = shared(workspace).join(LLAMA);
    if llama.is_file() {
        let files = MESHES.map(|[a, b]| (llama.clone(), Some(format!("data={a},model={b}"))));
        out.push(Subject { name: "`llama7b_2l_fsdp_tp_train`", files: files.into() });
    }
    type Text = fn(i64) -> String;
    let written: [(&str, &str, Text); 2] = [("a sum", "sum", sum), ("a shift", "shift", shift)];
    for (name, stem, text) in written {
        let mut files = Vec::new();
        for [a, b] in MESHES {
            let file = dir.join(format!("{stem}_{}.mlir", a * b));
            fs::write(&file, text(a * b)).with_context(|| format!("writing {}", file.display()))?;
            files.push((file, None));
        }
        out.push(Subject { name, files });
    }
    Ok(out)
}

fn sum(devices: i64) -> String {
    let rows = devices * 128;
    format!(
        r#"sdy.mesh @mesh = <["x"={devices}]>
func.func public @main(%a: tensor<{rows}x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> tensor<f32> {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<{rows}x4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}
"#
    )
}

fn shift(devices: i64) -> String {
    let rows = devices * 128;
    let ty = format!("tensor<{rows}x4xf32>");
    format!(
        r#"sdy.mesh @mesh = <["x"={devices}]>
func.func public @main(%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> ({ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [1, 0], high = [-1, 0], interior = [0, 0] : ({ty}, tensor<f32>) -> {ty}
  return %0 : {ty}
}}
"#
    )
}

fn partition(shardc: &Path, file: &Path, mesh: Option<&str>, form: &str, dir: &Path) -> Result<Taken> {
    let out = dir.join("out.mlir");
    let mut command = Command::new(shardc);
    command.arg("partition").arg(file).arg("-o").arg(&out).args(["--groups", form]);
    if let Some(mesh) = mesh {
        command.args(["--mesh", mesh]);
    }
    command.stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("starting {}", process::shown(&command)))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0.0;
    let done = loop {
        // Keeps the last peak memory that is reported before the process ends.
        if let Some(kib) = fs::read_to_string(&status).ok().as_deref().and_then(high_water) {
            peak_bytes = kib * 1024.0;
        }
        if let Some(done) = child.try_wait()? {
            break done;
        }
        sleep(Duration::from_millis(1));
    };
    let seconds = start.elapsed().as_secs_f64();
    ensure!(done.success(), "`{}` failed ({done})", process::shown(&command));
    let text_bytes =
        fs::metadata(&out).with_context(|| format!("looking at {}", out.display()))?.len() as f64;
    Ok(Taken { seconds, peak_bytes, text_bytes })
}

/// Parses the KiB in the line `VmHWM:  1234 kB`.
fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Formats measured costs as `0.12 s, 20.1 MB, text 0.15 MB`.
fn shown(taken: Taken) -> String {
    let bytes = |n| page::three_digits(n, &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]);
    let time = page::three_digits(taken.seconds, &[("s", 1.0), ("ms", 1e-3)]);
    format!("{time}, {} (text {})", bytes(taken.peak_bytes), bytes(taken.text_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_parsed() {
        assert_eq!(high_water("Name:\tshardc\nVmHWM:\t   19492 kB\nVmRSS:\t 1 kB\n"), Some(19492.0));
        assert_eq!(high_water("Name:\tshardc\n"), None);
    }
}
