//! `shardc plugin`

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use indicatif::ProgressBar;
use shardc::runtime::plugin::{self, Check, Health, InstallProgress};
use shardc::runtime::{Environment, PluginKind};

use super::runtime_error;
use crate::args::{Kind, PluginArgs, PluginCommand};
use crate::io;
use crate::table::Table;

pub(crate) fn run(args: &PluginArgs) -> Result<ExitCode> {
    let environment = Environment::from_process();
    match &args.command {
        PluginCommand::List => {
            let found = plugin::list(&environment);
            if found.is_empty() {
                io::print("no plugin was found; `shardc plugin install cpu` fetches one\n")?;
            }
            let mut table = Table::new(&["kind", "found in", "file"]);
            for f in &found {
                table.row(vec![f.kind.as_str().into(), f.source.to_string(), f.path.display().to_string()]);
            }
            if !found.is_empty() {
                io::print(&table)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        PluginCommand::Install { kind } => install(*kind, &environment),
        PluginCommand::Doctor => {
            let mut healthy = true;
            for check in plugin::doctor(&environment) {
                io::print(format_args!("{}\n", describe(&check)))?;
                healthy &= !matches!(check.health, Health::Broken { .. });
            }
            Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
    }
}

/// One plugin's state of health, the kind first.
fn describe(check: &Check) -> String {
    let place =
        check.found.as_ref().map(|f| format!(" {} ({})", f.path.display(), f.source)).unwrap_or_default();
    let health = match &check.health {
        Health::Absent { hint } => format!("not found; {hint}"),
        Health::Broken { reason } => format!("does not load: {reason}"),
        Health::Loads { api_version: (major, minor), missing_functions, devices } => {
            let devices = match devices {
                Ok((platform, n)) => format!("{n} devices on {platform}"),
                Err(why) => format!("no devices: {why}"),
            };
            let missing = match missing_functions.as_slice() {
                [] => "nothing missing".to_owned(),
                names => format!("lacks {}", names.join(", ")),
            };
            format!("C API {major}.{minor}, {devices}, {missing}")
        }
    };
    format!("{}:{place}\n  {health}", check.kind.as_str())
}

fn install(kind: Kind, environment: &Environment) -> Result<ExitCode> {
    let kind = match kind {
        Kind::Cpu => PluginKind::Cpu,
        Kind::Tpu => PluginKind::Tpu,
    };
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let found = plugin::install(kind, environment, &mut |progress| match progress {
        InstallProgress::Downloading { received, total, .. } => {
            bar.set_length(total.unwrap_or(received));
            bar.set_position(received);
        }
        InstallProgress::AlreadyInstalled
        | InstallProgress::Looking { .. }
        | InstallProgress::Unpacking
        | InstallProgress::Installed => {}
    })
    .map_err(runtime_error)?;
    bar.finish_and_clear();
    io::print(format_args!("{}\n", found.path.display()))?;
    Ok(ExitCode::SUCCESS)
}
