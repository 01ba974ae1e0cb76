//! Runs fuzzers: `fuzz [--minutes N | --seconds N] [--cases N] [--seed N] [--case N] [--jobs N] [--dir DIR] [--file FILE] NAME...`.
//!
//! `cargo xtask fuzz` builds and starts this program.

#![allow(clippy::print_stdout, reason = "the output of a program")]

use std::{io, path::PathBuf, process::ExitCode, time::Duration};

use shardc_runtime::plugin;
use shardc_tests::fuzz::drive::{Run, drive, work_if_worker};
use shardc_tests::fuzz::{From, Report, Sources, find, worker};

struct Options {
    time: Duration,
    cases: Option<u64>,
    seed: u64,
    case: Option<u64>,
    jobs: u64,
    dir: PathBuf,
    file: Option<PathBuf>,
    from: From,
    names: Vec<String>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        time: Duration::from_secs(60),
        cases: None,
        seed: 1,
        case: None,
        jobs: 2,
        dir: "target/fuzz".into(),
        file: None,
        from: From::Everywhere,
        names: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|e| format!("{word} {text}: {e}"));
        match word.as_str() {
            "--minutes" => options.time = Duration::from_secs(60 * number(value()?)?),
            "--seconds" => options.time = Duration::from_secs(number(value()?)?),
            "--cases" => options.cases = Some(number(value()?)?),
            "--seed" => options.seed = number(value()?)?,
            "--case" => options.case = Some(number(value()?)?),
            "--jobs" => options.jobs = number(value()?)?.max(1),
            "--dir" => options.dir = value()?.into(),
            "--file" => options.file = Some(value()?.into()),
            "--checkout-only" => options.from = From::Checkout,
            _ => options.names.push(word),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let done = match work_if_worker() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => options().and_then(|options| run(&options)),
        Err(error) => Err(error.to_string()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if there were no findings.
fn run(options: &Options) -> Result<bool, String> {
    let mut reports: Vec<Report> = Vec::new();
    for name in &options.names {
        let fuzzer = find(name).ok_or(format!("no fuzzer is called {name}"))?;
        let message = |error: io::Error| error.to_string();
        if let Some(file) = &options.file {
            let input = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            return worker::replay(fuzzer, &input).map_err(message);
        }
        let dir = options.dir.join(name);
        let mut run = Run::new(fuzzer, options.seed, dir);
        (run.jobs, run.from, run.progress) = (options.jobs, options.from, true);
        if fuzzer.runs {
            // With a back end, a case needs more time for compilation and for shrinking a finding.
            run.limit = Duration::from_secs(120);
        }
        if let Some(case) = options.case {
            let input = fuzzer.input(&Sources::load(options.from).map_err(message)?, options.seed, case);
            let file = run.dir.join(format!("case-{}-{case}.{}", options.seed, fuzzer.extension));
            std::fs::create_dir_all(&run.dir)
                .and_then(|()| std::fs::write(&file, &input))
                .map_err(message)?;
            eprintln!("the input is in {}", file.display());
            (run.first, run.cases, run.jobs) = (case, 1, 1);
        }
        match options.cases {
            Some(cases) => run.cases = cases,
            None if options.case.is_none() => run.time = options.time,
            None => {}
        }
        let report = drive(&run).map_err(message)?;
        eprintln!("{report}");
        reports.push(report);
    }
    for report in &reports {
        let kinds = report.findings.len();
        println!(
            "{:<12} {:>9} cases {:>7} per minute {kinds:>4} kinds of findings",
            report.name,
            report.cases,
            report.rate()
        );
    }
    Ok(reports.iter().all(|report| report.findings.is_empty()))
}
