//! How the time and the memory of a whole command grow with the program: processor time and peak memory of the process, each
//! program twice as large as the one before it.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use shardc_filetest::program::shardc;

use super::{BenchArgs, median, page, training};
use crate::{demo, process, workspace::Workspace};

/// The mesh of training steps.
const MESH: (usize, usize) = (8, 8);

/// How much the time may grow where the program is twice as large, besides what is measured wrongly below [`LEAST`].
const BOUND: f64 = 2.3;

/// Shorter runs say little about growth.
const LEAST: f64 = 0.1;

/// Processor time is told in hundredths of a second by Linux.
const TICK: f64 = 0.01;

/// What grows.
struct Growth {
    what: &'static str,
    command: &'static str,
    sizes: &'static [usize],
    program: fn(usize) -> String,
}

const ALL: [Growth; 4] = [
    Growth {
        what: "operations of repeated layers, a training step",
        command: "partition",
        sizes: &[125_000, 250_000, 500_000, 1_000_000],
        program: |operations| training::program(operations, MESH),
    },
    Growth {
        what: "operands of a concatenate",
        command: "partition",
        sizes: &[1_000, 2_000, 4_000, 8_000],
        program: concatenate,
    },
    Growth {
        what: "arguments",
        command: "explain",
        sizes: &[5_000, 10_000, 20_000, 40_000],
        program: arguments,
    },
    Growth {
        what: "operations of one chain",
        command: "explain",
        sizes: &[50_000, 100_000, 200_000],
        program: chain,
    },
];

/// What a run took.
#[derive(Clone, Copy)]
struct Usage {
    seconds: f64,
    bytes: f64,
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "the memory of a process is read off /proc, which Linux has");
    let shardc = match std::env::var_os("SHARDC_BIN") {
        Some(_) => shardc()?,
        None => process::step("build shardc, optimised", || demo::build(workspace, true))?,
    };
    let dir = workspace.scratch("scale")?;
    let mut table = String::from(
        "| what grows | command | number | processor time | peak memory | time, of half as many |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    let mut over = Vec::new();
    for growth in &ALL {
        let mut before: Option<Usage> = None;
        for &size in growth.sizes {
            let usage = measure(&shardc, &dir, growth, size, args.runs)?;
            let ratio = before.map(|before| usage.seconds / before.seconds);
            if let (Some(ratio), Some(before)) = (ratio, before)
                && ratio > BOUND
                && before.seconds >= LEAST
            {
                over.push(format!("{size} {} {ratio:.2}", growth.what));
            }
            let line = format!(
                "| {} | `{}` | {size} | {} | {} | {} |",
                growth.what,
                growth.command,
                page::three_digits(usage.seconds, &[("s", 1.0), ("ms", 1e-3)]),
                page::three_digits(usage.bytes, &[("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0)]),
                ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            );
            println!("{line}");
            let _ = writeln!(table, "{line}");
            before = Some(usage);
        }
    }
    let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
    let _ = writeln!(table, "\n* above {BOUND} of half as many, where that takes {LEAST} s or more: {over}");
    println!("above {BOUND}: {over}");
    if args.update {
        page::update(workspace, "--only scale", &table)?;
    }
    Ok(())
}

/// The medians of a command's runs on a program.
fn measure(shardc: &Path, dir: &Path, growth: &Growth, size: usize, runs: usize) -> Result<Usage> {
    let (input, output) = (dir.join("program.mlir"), dir.join("partitioned.mlir"));
    fs::write(&input, (growth.program)(size)).with_context(|| format!("writing {}", input.display()))?;
    let mut usages = Vec::new();
    for _ in 0..runs {
        let mut command = Command::new(shardc);
        command.arg("--quiet").arg(growth.command).arg(&input).stdout(Stdio::null());
        if growth.command == "partition" {
            command.arg("-o").arg(&output);
        }
        let mut child = command.spawn().with_context(|| format!("starting {}", shardc.display()))?;
        usages.push(watch(&mut child)?);
    }
    for file in [&input, &output] {
        let _ = fs::remove_file(file);
    }
    Ok(Usage {
        seconds: median(usages.iter().map(|usage| usage.seconds)),
        bytes: median(usages.iter().map(|usage| usage.bytes)),
    })
}

/// Waits for a process, and reads off the kernel's books what it has used, until it is gone.
fn watch(child: &mut Child) -> Result<Usage> {
    let folder = format!("/proc/{}", child.id());
    let mut usage = Usage { seconds: 0.0, bytes: 0.0 };
    loop {
        // What is not there any more leaves the last numbers as they are.
        let bytes = fs::read_to_string(format!("{folder}/status")).ok().and_then(|text| peak_bytes(&text));
        usage.bytes = bytes.unwrap_or(0.0).max(usage.bytes);
        let seconds = fs::read_to_string(format!("{folder}/stat")).ok().and_then(|text| cpu_seconds(&text));
        usage.seconds = seconds.unwrap_or(0.0).max(usage.seconds);
        if let Some(status) = child.try_wait().context("waiting for shardc")? {
            ensure!(status.success(), "shardc failed: {status}");
            return Ok(usage);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The most memory that a process had, from its `status`.
fn peak_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}

/// The processor time of a process in its own code and in the kernel, from its `stat`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The second field is the program's name in parentheses, and may have any letters in it.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
    Some(TICK * (ticks(11)? + ticks(12)?))
}

const HEAD: &str = "sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n";

/// A concatenate of `n` arguments that are split in three ways.
fn concatenate(n: usize) -> String {
    let shardings = [r#"{"x"}, {}"#, r#"{}, {"x"}"#, r#"{"y"}, {}"#];
    let args: Vec<String> = (0..n)
        .map(|i| {
            let sharding = shardings[i % 3];
            format!("%a{i}: tensor<64x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}")
        })
        .collect();
    let names: Vec<String> = (0..n).map(|i| format!("%a{i}")).collect();
    let (ty, types) = (format!("tensor<64x{}xf32>", 4 * n), vec!["tensor<64x4xf32>"; n].join(", "));
    format!(
        "{HEAD}func.func @main({}) -> {ty} {{\n%r = stablehlo.concatenate {}, dim = 1 : ({types}) -> {ty}\nreturn %r : {ty}\n}}\n",
        args.join(", "),
        names.join(", ")
    )
}

/// The sum of `n` arguments, of which two in three are annotated.
fn arguments(n: usize) -> String {
    let sharding = "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    let args: Vec<String> = (0..n)
        .map(|i| format!("%a{i}: tensor<64x64xf32> {}", if i % 3 == 0 { "" } else { sharding }))
        .collect();
    let mut body = "%r0 = stablehlo.add %a0, %a0 : tensor<64x64xf32>\n".to_owned();
    for i in 1..n {
        let _ = writeln!(body, "%r{i} = stablehlo.add %r{}, %a{i} : tensor<64x64xf32>", i - 1);
    }
    let last = n - 1;
    format!(
        "{HEAD}func.func @main({}) -> tensor<64x64xf32> {{\n{body}return %r{last} : tensor<64x64xf32>\n}}\n",
        args.join(", ")
    )
}

/// `n` sums, each of the one before it.
fn chain(n: usize) -> String {
    let mut body = String::new();
    for i in 0..n {
        let _ = writeln!(body, "%r{} = stablehlo.add %r{i}, %a : tensor<64x64xf32>", i + 1);
    }
    format!(
        "{HEAD}func.func @main(%r0: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}, %a: tensor<64x64xf32>) -> tensor<64x64xf32> {{\n{body}return %r{n} : tensor<64x64xf32>\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid() {
        for growth in &ALL {
            let text = (growth.program)(100);
            let module = shardc_stablehlo::parse(&text)
                .map_err(|errors| shardc_stablehlo::render(&errors, "generated", &text, false))
                .unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(shardc_ir::verify(&module), Ok(()), "{}", growth.what);
        }
    }

    #[test]
    fn the_books_of_the_kernel_are_read() {
        assert_eq!(peak_bytes("Name:\tx\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n"), Some(12288.0));
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
    }
}
