//! `shardc plugin`

use std::process::ExitCode;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use shardc::runtime::Environment;
use shardc::runtime::doctor::{Check, Health, check, doctor};
use shardc::runtime::plugin::{self, FoundPlugin, InstallProgress, Libraries};

use super::client::runtime_error;
use crate::args::{Kind, PluginArgs, PluginCommand};
use crate::failure::usage;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &PluginArgs, ui: &Ui) -> Result<ExitCode> {
    let environment = Environment::from_process();
    match &args.command {
        PluginCommand::List => {
            let found = plugin::list(&environment);
            ui.result(
                || text(&found, ui),
                || json!({ "version": 1, "plugins": found.iter().map(json).collect::<Vec<_>>() }),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        PluginCommand::Install { kind, with_system_cuda, compiler_only } => {
            let libraries = match (with_system_cuda, compiler_only) {
                (true, _) => Libraries::System,
                (_, true) => Libraries::Compiler,
                (false, false) => Libraries::Fetched,
            };
            install(*kind, libraries, &environment, ui)
        }
        PluginCommand::Doctor { plugin: file } => {
            let program = std::env::current_exe().context("cannot find the path of this executable")?;
            let checks = match file {
                Some(file) => vec![check(FoundPlugin::named(file), Some(&program))],
                None => doctor(&environment, Some(&program)),
            };
            let healthy = !checks.iter().any(|check| matches!(check.health, Health::Broken { .. }));
            let text = || checks.iter().map(|check| format!("{}\n", describe(check))).collect();
            ui.result(
                text,
                || json!({ "version": 1, "plugins": checks.iter().map(health).collect::<Vec<_>>() }),
            )?;
            Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
    }
}

fn text(found: &[FoundPlugin], ui: &Ui) -> String {
    if found.is_empty() {
        return "no plugin is installed; `shardc plugin install cpu` downloads one\n".to_owned();
    }
    let mut table = Table::new(&["kind", "found in", "file"]);
    for f in found {
        table.row(vec![f.kind.as_str().into(), f.source.to_string(), f.path.display().to_string()]);
    }
    ui.table(&table)
}

fn json(found: &FoundPlugin) -> Value {
    json!({ "kind": found.kind.as_str(), "found_in": found.source.to_string(), "file": found.path })
}

/// Describes the state of a plugin, beginning with its kind.
fn describe(check: &Check) -> String {
    let place =
        check.found.as_ref().map(|f| format!(" {} ({})", f.path.display(), f.source)).unwrap_or_default();
    let health = match &check.health {
        Health::Absent { hint } => format!("not found; {hint}"),
        Health::Broken { reason } => format!("does not load: {reason}"),
        Health::Loads { api_version: (major, minor), missing_functions, missing_libraries, devices } => {
            let devices = match devices {
                Ok((platform, 1)) => format!("1 device on {platform}"),
                Ok((platform, n)) => format!("{n} devices on {platform}"),
                Err(why) => format!("no devices: {why}"),
            };
            let lacks = [missing_functions.as_slice(), missing_libraries.as_slice()].concat();
            let missing = match lacks.as_slice() {
                [] => "nothing missing".to_owned(),
                names => format!("lacks {}", names.join(", ")),
            };
            format!("C API {major}.{minor}, {devices}, {missing}")
        }
    };
    format!("{}:{place}\n  {health}", check.kind.as_str())
}

fn health(check: &Check) -> Value {
    let mut object = match &check.health {
        Health::Absent { hint } => json!({ "state": "absent", "hint": hint }),
        Health::Broken { reason } => json!({ "state": "broken", "reason": reason }),
        Health::Loads { api_version: (major, minor), missing_functions, missing_libraries, devices } => {
            json!({
                "state": "loads",
                "api_version": format!("{major}.{minor}"),
                "missing_functions": missing_functions,
                "missing_libraries": missing_libraries,
                "platform": devices.as_ref().ok().map(|(platform, _)| platform),
                "devices": devices.as_ref().ok().map(|(_, n)| n),
                "no_devices": devices.as_ref().err().map(ToString::to_string),
            })
        }
    };
    object["kind"] = json!(check.kind.as_str());
    object["found_in"] = json!(check.found.as_ref().map(|f| f.source.to_string()));
    object["file"] = json!(check.found.as_ref().map(|f| &f.path));
    object
}

fn install(kind: Kind, libraries: Libraries, environment: &Environment, ui: &Ui) -> Result<ExitCode> {
    if libraries != Libraries::Fetched && !matches!(kind, Kind::Cuda) {
        return Err(usage(
            "--with-system-cuda and --compiler-only apply only to `shardc plugin install cuda`",
        ));
    }
    let bar = if ui.shows_progress() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} ({bytes_per_sec}, {eta}) {msg}")
    {
        bar.set_style(style);
    }
    let mut show = |progress| match progress {
        InstallProgress::Size { download, free } => {
            let room = free.map(|free| format!("; {} free on disk", bytes(free))).unwrap_or_default();
            bar.suspend(|| {
                ui.summary(
                    || format!("downloading {}{room}\n", bytes(download)),
                    || json!({ "download": download, "free": free }),
                );
            });
        }
        InstallProgress::Downloading { received, total, file } => {
            bar.set_message(file);
            bar.set_length(total.unwrap_or(received));
            bar.set_position(received);
        }
        InstallProgress::AlreadyInstalled
        | InstallProgress::Looking { .. }
        | InstallProgress::Unpacking
        | InstallProgress::Installed => {}
    };
    let found =
        plugin::install_with(kind.into(), libraries, environment, &mut show).map_err(runtime_error)?;
    bar.finish_and_clear();
    ui.result(|| format!("{}\n", found.path.display()), || json(&found))?;
    Ok(ExitCode::SUCCESS)
}
