//! `shardc verify --exact`

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::exec::{self, ExactCheck};

use crate::args::{EngineKind, HowArgs, VerifyArgs};
use crate::commands::client::{check_devices, limits};
use crate::commands::engine::refuse_plugin;
use crate::failure::Failure;
use crate::job;
use crate::output::Outputs;
use crate::source::Source;
use crate::ui::Ui;
use crate::ui::table::Table;

/// The number of devices that a table lists by number.
const LISTED: usize = 8;

pub(super) fn run(args: &VerifyArgs, how: &HowArgs, outputs: Outputs, ui: &Ui) -> Result<ExitCode> {
    if args.device.engine.kind == EngineKind::Pjrt {
        let message = "--exact runs programs in the interpreter, because plugins have no exact arithmetic";
        let hint = Some("leave out --engine pjrt, or --exact".to_owned());
        return Err(Failure::Usage { message: message.to_owned(), hint }.into());
    }
    refuse_plugin(&args.device, "--exact")?;
    match &args.against {
        Some(other) => against(args, other, ui),
        None => partition(args, how, outputs, ui),
    }
}

/// Compares the program with its partition.
fn partition(args: &VerifyArgs, how: &HowArgs, mut outputs: Outputs, ui: &Ui) -> Result<ExitCode> {
    let mut job = job::partition(&args.input, how, ui)?;
    check_devices(&args.device, &job.output.interface.mesh)?;
    job.progress.stage("run in exact arithmetic");
    let original = job::original(&job.source, &args.input.annotations)?;
    let explained = |error| job.source.explain(&error);
    let checks = exec::verify_exactly(&original, &job.output, args.device.seed, limits(&args.device));
    let checks = checks.map_err(explained)?;
    let chance = exec::chance_of_missed_difference(&original, &job.output).map_err(explained)?;
    let devices = job.output.num_devices();
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.commit()?;
    Report { checks, compared: Compared::Devices(devices), chance }.print(ui)
}

/// Compares the program with another one.
fn against(args: &VerifyArgs, other: &Path, ui: &Ui) -> Result<ExitCode> {
    let (source, other) = (Source::read(&args.input.input)?, Source::read(other)?);
    let (a, b) =
        (job::original(&source, &args.input.annotations)?, job::original(&other, &args.input.annotations)?);
    let limits = limits(&args.device);
    let checks =
        exec::compare_exactly(&a, &b, args.device.seed, limits).map_err(|error| source.explain(&error))?;
    let chance = exec::chance_between(&a, &b).map_err(|error| source.explain(&error))?;
    Report { checks, compared: Compared::Programs, chance }.print(ui)
}

/// The program that is compared with the original.
#[derive(Clone, Copy)]
enum Compared {
    /// The partition for this number of devices.
    Devices(usize),
    /// Another program.
    Programs,
}

/// The comparison of all outputs.
struct Report {
    checks: Vec<ExactCheck>,
    compared: Compared,
    chance: Option<f64>,
}

impl Report {
    fn print(&self, ui: &Ui) -> Result<ExitCode> {
        ui.result(|| self.text(ui), || self.json())?;
        Ok(if self.checks.iter().all(ExactCheck::ok) { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// Renders the outputs that differ, the counts, and the chance of a missed difference.
    fn text(&self, ui: &Ui) -> String {
        let wrong: Vec<_> = self.checks.iter().filter(|check| !check.ok()).collect();
        let mut out = String::new();
        if !wrong.is_empty() {
            out.push_str(&ui.table(&self.table(&wrong)));
        }
        let elements: u64 = self.checks.iter().map(|check| check.elements).sum();
        let (word, of) = (if wrong.is_empty() { "ok" } else { "WRONG" }, self.checks.len());
        let equal = format!("{word}: {} of {of} outputs ({elements} elements) equal", of - wrong.len());
        out.push_str(&match self.compared {
            Compared::Devices(devices) => {
                format!("{equal} on {devices} devices and on one, in exact arithmetic\n")
            }
            Compared::Programs => format!("{equal} in both programs, in exact arithmetic\n"),
        });
        if wrong.is_empty() {
            let chance = match self.chance {
                Some(chance) => format!("at most {chance:.0e}"),
                None => "no bound is known".to_owned(),
            };
            out.push_str(&format!(
                "chance of a missed difference: {chance}; see \"Exact arithmetic\" in docs/GUIDE.md\n"
            ));
        }
        out
    }

    fn table(&self, wrong: &[&ExactCheck]) -> Table {
        let columns = ["output", "type", ">different", ">of", "first", "devices"];
        let shown = match self.compared {
            Compared::Devices(_) => columns.len(),
            Compared::Programs => columns.len() - 1,
        };
        let mut table = Table::new(&columns[..shown]);
        for check in wrong {
            let name = check.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let mut row = vec![
                format!("{}{name}", check.index),
                check.ty.to_string(),
                check.different.to_string(),
                check.elements.to_string(),
                check.first.as_ref().map_or_else(String::new, |first| format!("{first:?}")),
            ];
            if let Compared::Devices(devices) = self.compared {
                row.push(listed(&check.devices, devices));
            }
            table.row(row);
        }
        table
    }

    fn json(&self) -> Value {
        let devices = match self.compared {
            Compared::Devices(devices) => Some(devices),
            Compared::Programs => None,
        };
        let outputs = self.checks.iter().map(|check| {
            json!({
                "output": check.index,
                "name": check.name,
                "type": check.ty.to_string(),
                "ok": check.ok(),
                "elements": check.elements,
                "different": check.different,
                "first": check.first,
                "on_devices": devices.map(|_| &check.devices),
            })
        });
        json!({
            "version": 1,
            "ok": self.checks.iter().all(ExactCheck::ok),
            "devices": devices,
            "engine": "interpreter",
            "exact": true,
            "chance_of_missed_difference": self.chance,
            "outputs": outputs.collect::<Vec<_>>(),
        })
    }
}

/// The devices as a list, shortened if it is long.
fn listed(devices: &[usize], all: usize) -> String {
    if devices.len() == all && all > 1 {
        return "all".to_owned();
    }
    let numbers: Vec<String> = devices.iter().take(LISTED).map(ToString::to_string).collect();
    let more = match devices.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", numbers.join(", "))
}
