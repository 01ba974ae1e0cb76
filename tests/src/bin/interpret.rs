//! Runs StableHLO's interpreter tests with random shardings: `interpret [--seed N] [--draws N] [--keep DIR]
//! [--after ID] FILE...`.
//!
//! At the start and the end of each program, the tool prints a line of words separated by tabs. If the back end aborts the process, `cargo
//! xtask conformance interpret` finds the program that was running from these lines. `--after` resumes after that program.

use std::{io::Write, path::PathBuf, process::ExitCode};

use shardc::SpmdMode;
use shardc_runtime::plugin;
use shardc_stablehlo::{PrintOptions, print};
use shardc_tests::devices::client;
use shardc_tests::interpret::{Case, Draw, Outcome, Runner, tests_of};

struct Options {
    seed: u64,
    draws: u64,
    keep: Option<PathBuf>,
    after: Option<String>,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seed: 1, draws: 3, keep: None, after: None, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seed" => options.seed = value()?.parse().map_err(|e| format!("--seed: {e}"))?,
            "--draws" => options.draws = value()?.parse().map_err(|e| format!("--draws: {e}"))?,
            "--keep" => options.keep = Some(value()?.into()),
            "--after" => options.after = Some(value()?),
            _ => options.files.push(word.into()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a line and flushes it, because the back end may end the process in the next step.
fn say(words: &[&str]) {
    let mut out = std::io::stdout().lock();
    let line = words.iter().map(|w| w.replace(['\t', '\n'], " ")).collect::<Vec<_>>().join("\t");
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn run(options: &Options) -> Result<(), String> {
    let Some(client) = client()? else { return Err("there is no CPU plugin".to_owned()) };
    let runner = Runner::new(&client);
    let mut waiting = options.after.clone();
    for file in &options.files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        for test in tests_of(&text) {
            let name = format!("{}#{}", file.display(), test.name);
            match waiting.as_deref() {
                // The execution on one device ended the process.
                Some(after) if after == name => {
                    waiting = None;
                    continue;
                }
                Some(after) if after.starts_with(&format!("{name} ")) => {}
                Some(_) => continue,
                None => {}
            }
            let case = match test.program.and_then(|(module, func)| Case::new(module, func)) {
                Ok(case) => case,
                Err(why) => {
                    say(&["skip", &name, &why]);
                    continue;
                }
            };
            if waiting.is_none() {
                say(&["test", &name, &case.operations.join(",")]);
            }
            say(&["begin", &name]);
            let reference = match runner.reference(&case) {
                Ok(reference) => reference,
                Err(why) => {
                    say(&["skip", &name, &format!("on one device: {why}")]);
                    continue;
                }
            };
            for number in 0..options.draws {
                let drawn = Draw::new(options.seed, &test.name, number).program(&case);
                for mode in [SpmdMode::Replica, SpmdMode::Partition] {
                    let id = format!("{name} {number} {mode}");
                    match waiting.as_deref() {
                        Some(after) if after == id => {
                            waiting = None;
                            continue;
                        }
                        Some(_) => continue,
                        None => {}
                    }
                    let program = || print(&drawn.module, &PrintOptions::default());
                    if let Some(dir) = &options.keep {
                        std::fs::write(dir.join("running.mlir"), program()).map_err(|e| e.to_string())?;
                    }
                    say(&["begin", &id]);
                    let (outcome, warnings) = runner.run(&case, &reference, &drawn, mode);
                    let (word, why) = match &outcome {
                        Outcome::Equal => ("equal", ""),
                        Outcome::Rounded => ("rounded", ""),
                        Outcome::LikeOneDevice => ("like-one-device", ""),
                        Outcome::Unsupported(why) => ("unsupported", why.as_str()),
                        Outcome::Failed(why) => ("failed", why.as_str()),
                        Outcome::Wrong(why) => ("wrong", why.as_str()),
                    };
                    for warning in warnings {
                        say(&["warning", &id, &warning]);
                    }
                    if let (Some(dir), false) = (&options.keep, why.is_empty()) {
                        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
                        let to = dir.join(format!("{stem}-{}-{number}-{mode}.mlir", test.name));
                        std::fs::write(to, program()).map_err(|e| e.to_string())?;
                    }
                    say(&["end", &id, word, if drawn.uneven { "uneven" } else { "even" }, why]);
                }
            }
        }
    }
    Ok(())
}
