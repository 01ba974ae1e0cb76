//! `shardc verify`

use std::process::ExitCode;

use anyhow::Result;
use shardc::exec;

use super::cpu_client;
use crate::args::VerifyArgs;
use crate::io;
use crate::table::Table;

pub(crate) fn run(args: &VerifyArgs) -> Result<ExitCode> {
    let mut job = io::partition(&args.input, &args.how)?;
    let devices = job.output.manifest.num_devices;
    let client = cpu_client(&args.device, devices)?;
    job.progress.stage("compile and run");
    let checks = exec::verify(&client, &job.original, &job.output, args.device.seed)
        .map_err(|e| job.source.explain(&e))?;
    job.progress.finish(args.how.timings.as_deref())?;
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
        io::print(&table)?;
    }
    let worst = checks.iter().map(|c| c.difference.max_rel_to_scale).fold(0.0, f64::max);
    let rounding = checks.iter().filter(|c| c.is_rounding()).count();
    let finite = checks.iter().map(|c| c.difference.finite_share).fold(1.0, f64::min);
    io::print(format_args!(
        "{}: {} of {} outputs equal on {devices} devices and on one; largest difference {worst:.3e} of the largest value{}{}\n",
        if wrong.is_empty() { "ok" } else { "WRONG" },
        checks.len() - wrong.len(),
        checks.len(),
        match rounding {
            0 => String::new(),
            n => format!("; {n} off by rounding alone, as double precision shows"),
        },
        if finite < 0.5 {
            format!("; only {:.0}% of some output is finite", finite * 100.0)
        } else {
            String::new()
        },
    ))?;
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
