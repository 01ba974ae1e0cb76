//! The `shardc` program. Exit codes: 0 is success, 1 means that the program was rejected or the command failed, 2 is invalid usage.

// `eprintln!` panics if standard error is full or closed, so `ui` writes to it.
#![warn(clippy::print_stderr)]

mod apply_steps;
mod args;
mod checkpoints;
mod commands;
mod failure;
mod job;
mod observe;
mod output;
mod processes;
mod reproducer;
mod search;
mod signals;
mod source;
mod state_dict;
mod strategy;
mod target;
mod ui;
mod words;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use shardc::autodiff::Derivative;

use crate::args::{Cli, Command, Format};
use crate::failure::{Failure, usage};
use crate::ui::Ui;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    shardc::runtime::plugin::quiet_plugin_logs();
    let is_pass = |name: &str| shardc_shardy::find(name).is_some();
    let args = args::normalized(std::env::args_os().collect(), is_pass);
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(Ui::guess(&args).command_line(&error)),
    };
    if let Command::AotCompile { request } = &cli.command {
        return ExitCode::from(shardc::runtime::aot::run_child(request));
    }
    let ui = Ui::new(&cli.global).json_if(cli.command.is_json());
    let done = signals::clean_up_on_termination().and_then(|()| run(&cli.command, &ui));
    done.unwrap_or_else(|error| {
        ui.error(&error);
        let is_usage = error.downcast_ref().is_some_and(Failure::is_usage);
        ExitCode::from(if is_usage { 2 } else { 1 })
    })
}

fn run(command: &Command, ui: &Ui) -> Result<ExitCode> {
    if ui.format() == Format::Markdown && !matches!(command, Command::Ops(_)) {
        return Err(usage("--format markdown is only for `shardc ops`: leave it out, or use --format json"));
    }
    match command {
        Command::Partition(args) => commands::partition::run(args, ui),
        Command::Memory(args) => commands::memory::run(args, ui),
        Command::Propagate(args) => commands::propagate::run(args, ui),
        Command::Lint(args) => commands::lint::run(args, ui),
        Command::Prove(args) => commands::prove::run(args, ui),
        Command::Verify(args) => commands::verify::run(args, ui),
        Command::Run(args) => commands::run::run(args, ui),
        Command::Launch(args) => commands::launch::run(args, ui),
        Command::Compile(args) => commands::compile::run(args, ui),
        Command::Explain(args) => commands::explain::run(args, ui),
        Command::Plan(args) => commands::plan::run(args, ui),
        Command::Auto(args) => commands::auto::run(args, ui),
        Command::Snapshot(args) => commands::snapshot::run(args, ui),
        Command::Diff(args) => commands::diff::run(args, ui),
        Command::Ops(args) => commands::ops::run(args, ui),
        Command::Lsp(args) => commands::lsp::run(args),
        Command::Grad(args) => commands::derivative::run(args, Derivative::Gradient, ui),
        Command::Jvp(args) => commands::derivative::run(args, Derivative::Jvp, ui),
        Command::Opt(args) => commands::opt::run(args, ui),
        Command::Plugin(args) => commands::plugin::run(args, ui),
        Command::Lora(args) => commands::lora::run(args, ui),
        Command::Fsdp(args) => commands::fsdp::run(args, ui),
        Command::Checkpoint(args) => commands::checkpoint::run(args, ui),
        Command::Help { topic } => commands::help::run(topic, ui),
        Command::Completions { shell } => commands::manual::completions(*shell, ui),
        Command::Man { directory } => commands::manual::pages(directory.as_deref(), ui),
        // `main` handles this command earlier, because the child process has no user interface.
        Command::AotCompile { .. } => Ok(ExitCode::FAILURE),
    }
}
