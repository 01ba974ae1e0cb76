//! Runs a sample of the cases of each fuzzer. `cargo xtask fuzz` runs fuzzers for longer.
//!
//! Inputs are generated only from programs of the checkout and fixed seeds, so they are the same in every test run. A finding leaves its
//! input in a file, and the failure shows how to run it again.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use libtest_mimic::{Arguments, Failed, Trial};
use shardc_runtime::plugin;
use shardc_tests::fuzz::drive::{Run, drive, work_if_worker};
use shardc_tests::fuzz::{From, Fuzzer, find};
use shardc_tests::skip::{Need, skipped};

/// A few cases of a fuzzer.
struct Sample {
    fuzzer: &'static str,
    seed: u64,
    cases: u64,
    /// A stage, and how many of 100 cases must pass it: a fuzzer whose inputs all fail early tests little. If a case consists of several
    /// small programs, each of them counts.
    passes: (&'static str, u64),
}

const SAMPLES: &[Sample] = &[
    Sample { fuzzer: "text", seed: 1, cases: 250, passes: ("partition", 15) },
    Sample { fuzzer: "bytecode", seed: 1, cases: 300, passes: ("read", 15) },
    Sample { fuzzer: "partitions", seed: 1, cases: 250, passes: ("damaged", 15) },
    Sample { fuzzer: "meshes", seed: 1, cases: 40, passes: ("partition", 10) },
    Sample { fuzzer: "passes", seed: 1, cases: 300, passes: ("2 passes", 20) },
    Sample { fuzzer: "ops", seed: 1, cases: 5, passes: ("pieces compared", 500) },
    Sample { fuzzer: "devices", seed: 1, cases: 5, passes: ("pieces partitioned", 160) },
    Sample { fuzzer: "inputs", seed: 1, cases: 20, passes: ("right after that", 25) },
];

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    match work_if_worker() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    let trial = |sample: &'static Sample| Trial::test(sample.fuzzer, move || check(sample));
    let trials = SAMPLES.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check(sample: &Sample) -> Result<(), Failed> {
    let fuzzer: &'static Fuzzer = find(sample.fuzzer).ok_or("no such fuzzer")?;
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(sample.fuzzer);
    let mut run = Run::new(fuzzer, sample.seed, dir);
    // The time limit of a case is high, because code without optimization is several times slower.
    (run.cases, run.jobs, run.from, run.limit) = (sample.cases, 1, From::Checkout, Duration::from_secs(60));
    let report = drive(&run)?;
    if !report.findings.is_empty() {
        return Err(format!("{report}\nthe inputs are in {}", run.dir.display()).into());
    }
    if report.refused.keys().any(|why| why.contains("SKIPPED")) {
        let reason = "what runs programs needs the CPU plugin (`shardc plugin install cpu` fetches it)";
        return Ok(skipped(Need::CpuPlugin, reason)?);
    }
    let (stage, least) = sample.passes;
    if report.percent(stage) < least {
        return Err(format!("of 100 inputs not even {least} come through \"{stage}\"\n{report}").into());
    }
    Ok(())
}
