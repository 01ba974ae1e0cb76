//! Damages and rewrites partitions, and proves them:
//! `mutants [--cases N] [--first N] [--seed N] [--only NAME] [--without-certificate]
//! [--programs FOLDER]`.
//!
//! `cargo xtask sweep --of proofs` builds and starts this program. A name is a class of mutations, `damages` or `rewrites`.

#![allow(clippy::print_stdout, reason = "the output of a program")]

use std::process::ExitCode;

use shardc_tests::mutants::{Settings, run};

fn settings() -> Result<Settings, String> {
    let mut settings = Settings::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{word} {text}: {error}"));
        match word.as_str() {
            "--cases" => settings.cases = number(value()?)?,
            "--first" => settings.first = number(value()?)?,
            "--seed" => settings.seed = number(value()?)?,
            "--only" => settings.only = Some(value()?),
            "--without-certificate" => settings.certificate = false,
            "--programs" => settings.folders = vec![value()?.into()],
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(settings)
}

fn main() -> ExitCode {
    match settings().and_then(|settings| run(&settings)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}
