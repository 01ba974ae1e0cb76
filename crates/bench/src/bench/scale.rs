//! Measures how CPU time and peak memory of shardc's commands grow with the size of the program. Each program is twice as large as the
//! previous one.

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

use super::{BenchArgs, median, page, programs, training};
use xtask::{demo, process, workspace::Workspace};

/// The mesh of training steps.
const MESH: (usize, usize) = (8, 8);

/// Upper bound of the ratio of times when the size of the program doubles. The bound applies if the smaller program takes at least
/// [`LEAST`].
const BOUND: f64 = 2.3;

/// The minimum time in seconds: ratios of shorter times are too noisy.
const LEAST: f64 = 0.1;

/// The resolution of CPU time in seconds: Linux reports hundredths of a second.
const TICK: f64 = 0.01;

/// A family of programs of increasing size, and the measured commands.
struct Growth {
    what: &'static str,
    commands: &'static [&'static str],
    sizes: &'static [usize],
    program: fn(usize) -> String,
}

const BOTH: &[&str] = &["partition", "explain"];

const ALL: [Growth; 13] = [
    Growth {
        what: "operations of repeated layers, a training step",
        commands: &["partition"],
        sizes: &[125_000, 250_000, 500_000, 1_000_000],
        program: |operations| training::program(operations, MESH),
    },
    Growth {
        what: "operations of one chain",
        commands: BOTH,
        sizes: &[50_000, 100_000, 200_000],
        program: programs::chain,
    },
    Growth {
        what: "matmuls of different sizes",
        commands: BOTH,
        sizes: &[2_000, 4_000, 8_000],
        program: programs::products,
    },
    Growth {
        what: "arguments",
        commands: BOTH,
        sizes: &[10_000, 20_000, 40_000],
        program: programs::arguments,
    },
    Growth { what: "results", commands: BOTH, sizes: &[10_000, 20_000, 40_000], program: programs::results },
    Growth {
        what: "operands of a concatenate",
        commands: BOTH,
        sizes: &[2_000, 4_000, 8_000, 16_000],
        program: programs::concatenate,
    },
    Growth {
        what: "operands of a reduction",
        commands: BOTH,
        sizes: &[1_000, 2_000, 4_000],
        program: programs::reduction,
    },
    Growth {
        what: "operands of a sort",
        commands: BOTH,
        sizes: &[1_000, 2_000, 4_000],
        program: programs::sort,
    },
    Growth {
        what: "values that a loop carries",
        commands: BOTH,
        sizes: &[4_000, 8_000, 16_000],
        program: programs::carries,
    },
    Growth {
        what: "slices of one value",
        commands: BOTH,
        sizes: &[2_000, 4_000, 8_000],
        program: programs::slices,
    },
    Growth { what: "nested loops", commands: BOTH, sizes: &[10, 20, 40], program: programs::nested },
    Growth { what: "mesh axes of size two", commands: BOTH, sizes: &[5, 10, 20], program: programs::axes },
    Growth {
        what: "dimensions of a value",
        commands: BOTH,
        sizes: &[8, 16, 32],
        program: programs::dimensions,
    },
];

/// The cost of a run.
#[derive(Clone, Copy)]
struct Usage {
    seconds: f64,
    bytes: f64,
}

pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "--only scale needs Linux: the memory of a process is read from /proc"
    );
    let shardc = match std::env::var_os("SHARDC_BIN") {
        Some(_) => shardc()?,
        None => process::step("build shardc, optimized", || demo::build(workspace, true))?,
    };
    let dir = workspace.scratch("scale")?;
    let mut table = String::from(
        "| what grows | command | number | processor time | peak memory | time, of half as many | exponent |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
    );
    let mut over = Vec::new();
    let growths = ALL.iter().flat_map(|growth| growth.commands.iter().map(move |command| (growth, command)));
    for (growth, command) in growths {
        let mut before: Option<Usage> = None;
        for &size in growth.sizes {
            let usage = measure(&shardc, &dir, command, &(growth.program)(size), args.runs)?;
            let ratio = before.map(|before| usage.seconds / before.seconds);
            if let (Some(ratio), Some(before)) = (ratio, before)
                && ratio > BOUND
                && before.seconds >= LEAST
            {
                over.push(format!("{size} {} (`{command}`) {ratio:.2}", growth.what));
            }
            let line = format!(
                "| {} | `{command}` | {size} | {} | {} | {} | {} |",
                growth.what,
                page::three_digits(usage.seconds, &[("s", 1.0), ("ms", 1e-3)]),
                page::three_digits(usage.bytes, &[("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0)]),
                ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                // The growth exponent is omitted for short times, because the resolution of CPU time makes it inaccurate.
                ratio
                    .zip(before.filter(|before| before.seconds >= LEAST))
                    .map_or_else(String::new, |(ratio, _)| { format!("{:.2}", ratio.log2()) }),
            );
            println!("{line}");
            let _ = writeln!(table, "{line}");
            before = Some(usage);
        }
    }
    let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
    let _ = writeln!(
        table,
        "\n* more than {BOUND} times the time of half as many, if that is {LEAST} s or more: {over}"
    );
    println!("above {BOUND}: {over}");
    if args.update {
        page::update(workspace, "--only scale", &table)?;
    }
    Ok(())
}

/// Runs a command on a program several times. Returns the medians of its CPU time and peak memory.
fn measure(shardc: &Path, dir: &Path, command: &str, program: &str, runs: usize) -> Result<Usage> {
    let (input, output) = (dir.join("program.mlir"), dir.join("partitioned.mlir"));
    fs::write(&input, program).with_context(|| format!("writing {}", input.display()))?;
    let mut usages = Vec::new();
    for _ in 0..runs {
        let mut run = Command::new(shardc);
        run.arg("--quiet").arg(command).arg(&input).stdout(Stdio::null());
        if command == "partition" {
            run.arg("-o").arg(&output);
        }
        let mut child = run.spawn().with_context(|| format!("starting {}", shardc.display()))?;
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

/// Waits for a process, and samples its usage from `/proc` until it ends.
fn watch(child: &mut Child) -> Result<Usage> {
    let folder = format!("/proc/{}", child.id());
    let mut usage = Usage { seconds: 0.0, bytes: 0.0 };
    loop {
        // The files no longer exist after the process has ended. The last figures are then kept.
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

/// The peak memory of a process, from its `status`.
fn peak_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}

/// The user and system CPU time of a process, from its `stat`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The second field is the program's name in parentheses, which may contain spaces and parentheses.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
    Some(TICK * (ticks(11)? + ticks(12)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_valid() {
        for growth in &ALL {
            let text = (growth.program)(growth.sizes[0].min(100));
            let module = shardc_stablehlo::parse(&text)
                .map_err(|errors| shardc_stablehlo::render(&errors, "generated", &text, false))
                .unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(shardc_ir::verify(&module), Ok(()), "{}", growth.what);
        }
    }

    #[test]
    fn memory_statistics_of_the_kernel_are_parsed() {
        assert_eq!(peak_bytes("Name:\tx\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n"), Some(12288.0));
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
    }
}
