//! `shardc completions` and `shardc man`

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::output::Outputs;
use crate::ui::Ui;

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell, ui: &Ui) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shardc", &mut script);
    ui.print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of the program, or writes one page for each command.
pub(crate) fn pages(directory: Option<&Path>, ui: &Ui) -> Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    let Some(directory) = directory else {
        ui.print(String::from_utf8_lossy(&page(&command)?))?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let mut outputs = Outputs::default();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        let name = command.get_display_name().unwrap_or(command.get_name());
        outputs.put(&directory.join(format!("{name}.1")), page(&command)?)?;
        left.extend(
            command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").cloned(),
        );
    }
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}

fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
