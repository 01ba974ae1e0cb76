//! `shardc verify`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::exec::{self, OutputCheck};

use super::client::{client, kind, limits};
use crate::args::VerifyArgs;
use crate::job;
use crate::output::Outputs;
use crate::target::Chosen;
use crate::ui::Ui;
use crate::ui::table::Table;

pub(crate) fn run(args: &VerifyArgs, ui: &Ui) -> Result<ExitCode> {
    let mut outputs = Outputs::plan(&args.how.outputs(&[]), &[args.input.named()])?;
    let plugin = kind(&args.device);
    let how = args.how.for_plugin(plugin, Chosen::of_plugin(plugin));
    let mut job = job::partition(&args.input, &how, ui)?;
    let devices = job.output.num_devices();
    let client = client(&args.device, &job.output.interface.mesh, None)?;
    job.progress.stage("compile and run");
    let limits = limits(&args.device);
    let original = job::original(&job.source, &args.input.annotations)?;
    let checks = exec::verify_within(&client, &original, &job.output, args.device.seed, limits)
        .map_err(|e| job.source.explain(&e))?;
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.commit()?;
    let wrong = checks.iter().filter(|c| !c.ok()).count();
    let assumed = exec::assumptions(&original);
    ui.result(
        || {
            let notes = assumed.iter().map(|assumed| format!("assumed: {assumed}\n"));
            text(&checks, devices, ui) + &notes.collect::<String>()
        },
        || json(&checks, devices, &assumed),
    )?;
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Renders the outputs that differ, and the counts.
fn text(checks: &[OutputCheck], devices: usize, ui: &Ui) -> String {
    let mut out = String::new();
    let wrong: Vec<_> = checks.iter().filter(|c| !c.ok()).collect();
    if !wrong.is_empty() {
        let mut table = Table::new(&["output", "type", ">error", ">tolerance", ">mismatches"]);
        for c in &wrong {
            let name = c.name.as_deref().map(|n| format!(" ({n})")).unwrap_or_default();
            table.row(vec![
                format!("{}{name}", c.index),
                c.ty.to_string(),
                format!("{:.3e}", c.difference.max_rel_to_scale),
                format!("{:.0e}", c.tolerance),
                c.difference.mismatches.to_string(),
            ]);
        }
        out.push_str(&ui.table(&table));
    }
    let worst = checks.iter().map(|c| c.difference.max_rel_to_scale).fold(0.0, f64::max);
    let rounding = checks.iter().filter(|c| c.is_rounding()).count();
    let finite = checks.iter().map(|c| c.difference.finite_share).fold(1.0, f64::min);
    out.push_str(&format!(
        "{}: {} of {} outputs equal on {devices} devices and on one; largest difference {worst:.3e} of the largest value{}{}\n",
        if wrong.is_empty() { "ok" } else { "WRONG" },
        checks.len() - wrong.len(),
        checks.len(),
        match rounding {
            0 => String::new(),
            n => format!("; {n} differ only by rounding, as a run in double precision shows"),
        },
        if finite < 0.5 {
            format!("; only {:.0}% of the elements of an output are finite", finite * 100.0)
        } else {
            String::new()
        },
    ));
    out
}

fn json(checks: &[OutputCheck], devices: usize, assumed: &[String]) -> Value {
    let outputs = checks.iter().map(|c| {
        json!({
            "output": c.index,
            "name": c.name,
            "type": c.ty.to_string(),
            "ok": c.ok(),
            "error": c.difference.max_rel_to_scale,
            "tolerance": c.tolerance,
            "mismatches": c.difference.mismatches,
            "rounding": c.is_rounding(),
            "finite_share": c.difference.finite_share,
        })
    });
    json!({
        "version": 1,
        "ok": checks.iter().all(|c| c.ok()),
        "devices": devices,
        "outputs": outputs.collect::<Vec<_>>(),
        "assumed": assumed,
    })
}
