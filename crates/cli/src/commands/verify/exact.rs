//! `shardc verify --exact`

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
use crate::ui::Ui;
use crate::ui::table::Table;

/// The number of devices that a table lists by number.
const LISTED: usize = 8;

pub(super) fn run(args: &VerifyArgs, how: &HowArgs, mut outputs: Outputs, ui: &Ui) -> Result<ExitCode> {
    if args.device.engine.kind == EngineKind::Pjrt {
        let message = "--exact runs programs in the interpreter, because plugins have no exact arithmetic";
        let hint = Some("leave out --engine pjrt, or --exact".to_owned());
        return Err(Failure::Usage { message: message.to_owned(), hint }.into());
    }
    refuse_plugin(&args.device, "--exact")?;
    let mut job = job::partition(&args.input, how, ui)?;
    let devices = job.output.num_devices();
    check_devices(&args.device, &job.output.interface.mesh)?;
    job.progress.stage("run in exact arithmetic");
    let original = job::original(&job.source, &args.input.annotations)?;
    let checks = exec::verify_exactly(&original, &job.output, args.device.seed, limits(&args.device))
        .map_err(|e| job.source.explain(&e))?;
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.commit()?;
    ui.result(|| text(&checks, devices, ui), || json(&checks, devices))?;
    Ok(if checks.iter().all(ExactCheck::ok) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Renders the outputs that differ, and the counts.
fn text(checks: &[ExactCheck], devices: usize, ui: &Ui) -> String {
    let wrong: Vec<_> = checks.iter().filter(|check| !check.ok()).collect();
    let mut out = String::new();
    if !wrong.is_empty() {
        let mut table = Table::new(&["output", "type", ">different", ">of", "first", "devices"]);
        for check in &wrong {
            let name = check.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            table.row(vec![
                format!("{}{name}", check.index),
                check.ty.to_string(),
                check.different.to_string(),
                check.elements.to_string(),
                check.first.as_ref().map_or_else(String::new, |first| format!("{first:?}")),
                listed(&check.devices, devices),
            ]);
        }
        out.push_str(&ui.table(&table));
    }
    let elements: u64 = checks.iter().map(|check| check.elements).sum();
    out.push_str(&format!(
        "{}: {} of {} outputs ({elements} elements) equal on {devices} devices and on one, in exact arithmetic\n",
        if wrong.is_empty() { "ok" } else { "WRONG" },
        checks.len() - wrong.len(),
        checks.len(),
    ));
    out
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

fn json(checks: &[ExactCheck], devices: usize) -> Value {
    let outputs = checks.iter().map(|check| {
        json!({
            "output": check.index,
            "name": check.name,
            "type": check.ty.to_string(),
            "ok": check.ok(),
            "elements": check.elements,
            "different": check.different,
            "first": check.first,
            "on_devices": check.devices,
        })
    });
    json!({
        "version": 1,
        "ok": checks.iter().all(ExactCheck::ok),
        "devices": devices,
        "engine": "interpreter",
        "exact": true,
        "outputs": outputs.collect::<Vec<_>>(),
    })
}
