//! The `shardc` program. Exit code 0: done; 1: the program was refused or something failed; 2: wrong usage.

mod args;
mod commands;
mod io;
mod progress;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    // Before any thread starts and any plugin is loaded.
    shardc::runtime::plugin::quiet_plugin_logs();
    let is_pass = |name: &str| shardc::passes::pipeline::find(name).is_some();
    let cli = Cli::parse_from(args::normalized(std::env::args_os().collect(), is_pass));
    let result = match cli.command {
        Command::Partition(args) => commands::partition::run(&args),
        Command::Propagate(args) => commands::propagate::run(&args),
        Command::Lint(args) => commands::lint::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Compile(args) => commands::compile::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Ops(args) => commands::ops::run(&args),
        Command::Opt(args) => commands::opt::run(&args),
        Command::Plugin(args) => commands::plugin::run(&args),
        Command::AotCompile { request } => {
            return ExitCode::from(shardc::runtime::aot::run_child(&request));
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let text = format!("{error:#}");
            let text = text.trim_end();
            if text.starts_with("error") {
                eprintln!("{text}")
            } else {
                eprintln!("error: {text}")
            }
            ExitCode::from(if error.is::<io::Usage>() { 2 } else { 1 })
        }
    }
}
