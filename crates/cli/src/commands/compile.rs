//! `shardc compile`

use std::process::ExitCode;

use anyhow::{Context, Result};
use shardc::exec::compile_options;
use shardc::runtime::aot::{CompileReport, CompileRequest, Target, compile_in_child};
use shardc::runtime::{Environment, plugin};

use super::runtime_error;
use crate::args::CompileArgs;
use crate::io;
use crate::table::{Table, bytes};

pub(crate) fn run(args: &CompileArgs) -> Result<ExitCode> {
    let target = Target::parse(&args.target).map_err(|e| io::usage(runtime_error(e).to_string()))?;
    let mut environment = Environment::from_process();
    if let Some(path) = &args.plugin {
        environment = environment.with_plugin(target.kind(), path.clone());
    }
    let found = plugin::find(target.kind(), &environment).map_err(runtime_error)?;
    let mut job = io::partition(&args.input, &args.how)?;
    let request = CompileRequest {
        target,
        plugin: found.path,
        program: job.output.backend_code().map_err(|e| job.source.explain(&e))?,
        options: compile_options(job.output.interface.mode, job.output.manifest.num_devices),
        executable: args.output.clone(),
    };
    job.progress.stage("compile");
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let report = compile_in_child(&program, &request).map_err(runtime_error)?;
    job.progress.finish(args.how.timings.as_deref())?;
    if let Some(path) = &args.json {
        io::write(path, format!("{}\n", serde_json::to_string_pretty(&report)?).as_bytes())?;
    }
    io::print(describe(&report))?;
    Ok(ExitCode::SUCCESS)
}

fn describe(report: &CompileReport) -> String {
    let mut memory = Table::new(&["per device", ">"]);
    for (name, n) in [
        ("arguments", report.argument_bytes),
        ("outputs", report.output_bytes),
        ("  of which share memory with arguments", report.alias_bytes),
        ("temporaries", report.temp_bytes),
        ("executable", report.executable_bytes),
    ] {
        memory.row(vec![name.into(), bytes(n)]);
    }
    memory.row(vec!["flops (loop bodies once)".into(), format!("{:.3e}", report.flops)]);
    let mut collectives = Table::new(&["collective", ">count", ">sent"]);
    for (kind, c) in &report.collectives {
        collectives.row(vec![kind.to_string(), c.count.to_string(), bytes(c.bytes_sent)]);
    }
    collectives.row(vec!["all".into(), String::new(), bytes(report.bytes_sent())]);
    format!(
        "compiled for {} ({} devices) in {:.1} s\n\n{memory}\n{collectives}",
        report.target, report.devices, report.compile_seconds
    )
}
