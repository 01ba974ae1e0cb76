//! `shardc verify`

mod exact;

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::exec::{self, OutputCheck};

use super::client::{kind, limits};
use super::engine;
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
    if args.exact {
        return exact::run(args, &how, outputs, ui);
    }
    let mut job = job::partition(&args.input, &how, ui)?;
    let devices = job.output.num_devices();
    let engine = engine::chosen(&args.device, &job.output.interface.mesh, ui)?;
    job.progress.stage("compile and run");
    let limits = limits(&args.device);
    let original = job::original(&job.source, &args.input.annotations)?;
    let checks = exec::verify_on(engine.engine(), &original, &job.output, args.device.seed, limits)
        .map_err(|e| job.source.explain(&e))?;
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.commit()?;
    let assumed = exec::assumptions(&original);
    let report = Report { checks, devices, engine: engine.name(), assumed };
    ui.result(|| report.text(ui), || report.json())?;
    Ok(if report.checks.iter().all(OutputCheck::ok) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The comparison of all outputs.
struct Report {
    checks: Vec<OutputCheck>,
    devices: usize,
    engine: &'static str,
    assumed: Vec<String>,
}

impl Report {
    /// Renders the outputs that differ, the counts and the assumptions.
    fn text(&self, ui: &Ui) -> String {
        let Report { checks, devices, .. } = self;
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
        let exact = checks.iter().filter(|c| c.is_rounding() && c.is_exactly_equal).count();
        let rounding = checks.iter().filter(|c| c.is_rounding()).count() - exact;
        let finite = checks.iter().map(|c| c.difference.finite_share).fold(1.0, f64::min);
        out.push_str(&format!(
        "{}: {} of {} outputs equal on {devices} devices and on one; largest difference {worst:.3e} of the largest value{}{}\n",
        if wrong.is_empty() { "ok" } else { "WRONG" },
        checks.len() - wrong.len(),
        checks.len(),
        only_rounding(exact, rounding),
        if finite < 0.5 {
            format!("; only {:.0}% of the elements of an output are finite", finite * 100.0)
        } else {
            String::new()
        },
    ));
        out.extend(self.assumed.iter().map(|assumed| format!("assumed: {assumed}\n")));
        out
    }

    fn json(&self) -> Value {
        let outputs = self.checks.iter().map(|c| {
            json!({
                "output": c.index,
                "name": c.name,
                "type": c.ty.to_string(),
                "ok": c.ok(),
                "error": c.difference.max_rel_to_scale,
                "tolerance": c.tolerance,
                "mismatches": c.difference.mismatches,
                "rounding": c.is_rounding(),
                "equal_in_exact_arithmetic": c.is_exactly_equal.then_some(true),
                "finite_share": c.difference.finite_share,
            })
        });
        json!({
            "version": 1,
            "ok": self.checks.iter().all(OutputCheck::ok),
            "devices": self.devices,
            "engine": self.engine,
            "outputs": outputs.collect::<Vec<_>>(),
            "assumed": self.assumed,
        })
    }
}

/// The numbers of outputs that exceed the tolerance by rounding only, by how this was found.
fn only_rounding(exact: usize, double: usize) -> String {
    let shown = |count: usize, how: &str| match count {
        0 => String::new(),
        n => format!("; {n} differ only by rounding, as {how} shows"),
    };
    shown(exact, "exact arithmetic") + &shown(double, "a run in double precision")
}
