//! `shardc memory`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::runtime::aot::{CompileReport, Target};
use shardc::target::DeviceKind;
use shardc_passes::cost::memory::{MemoryEstimate, Model, RULES, RuleSet, estimate, stage_text};

use super::compile::Compiler;
use crate::args::{InputArgs, MemoryArgs};
use crate::failure::usage;
use crate::job;
use crate::output::Outputs;
use crate::ui::Ui;
use crate::ui::table::{Table, bytes};

pub(crate) fn run(args: &MemoryArgs, ui: &Ui) -> Result<ExitCode> {
    if args.list {
        list(ui)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(input) = &args.input else { return Err(usage("no program is given")) };
    let input = InputArgs { input: input.clone(), annotations: args.annotations.clone() };
    let mut outputs = Outputs::plan(&args.how.outputs(&[]), &[input.named()])?;
    let compiler = if args.check { Some(Compiler::find(target(args)?, &args.plugin)?) } else { None };
    let chosen = args.target.chosen()?;
    let how = match &compiler {
        Some(compiler) => args.how.for_plugin(compiler.kind(), chosen),
        None => args.how.for_machine(chosen),
    };
    let mut job = job::partition(&input, &how, ui)?;
    let report = compiler.map(|compiler| compiler.compile(&mut job, None)).transpose()?;
    job.finish(&mut outputs, &args.how, ui)?;
    outputs.commit()?;
    let rules = args.without.iter().fold(RuleSet::default(), |rules, &rule| rules.without(rule));
    let model = Model::new(job.output.machine, rules);
    let module = &job.output.module;
    let Some(func) = module.entry() else { return Ok(ExitCode::SUCCESS) };
    if let Some(stage) = args.stage {
        ui.print(stage_text(module, func, model, stage))?;
        return Ok(ExitCode::SUCCESS);
    }
    let memory = estimate(module, func, model);
    let checked = || report.as_ref().map(|report| compared(&memory, report)).unwrap_or_default();
    let figures = || {
        let mut figures = json(&memory);
        if let Some(report) = &report {
            figures["compiler"] = json!(report);
            figures["ratio"] = json!(ratio(&memory, report));
        }
        figures
    };
    ui.result(|| format!("{}{}", text(&memory), checked()), figures)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the target of --check: devices of a compiler that needs no device.
fn target(args: &MemoryArgs) -> Result<Target> {
    let text = args.target.target.as_deref().unwrap_or_default();
    let kind = args.target.chosen()?.map(|chosen| chosen.spec().kind);
    let prefix = match kind {
        Some(DeviceKind::Tpu) => "tpu:",
        Some(DeviceKind::Gpu) => "cuda:",
        _ => "",
    };
    let name = if text.starts_with(prefix) { text.to_owned() } else { format!("{prefix}{text}") };
    Target::parse(&name)
        .map_err(|error| usage(format!("--check needs a kind of device with its grid: {error}")))
}

/// Returns the estimate as a fraction of the compiler's figure.
fn ratio(memory: &MemoryEstimate, report: &CompileReport) -> f64 {
    memory.peak as f64 / report.needed_bytes().max(1) as f64
}

/// The compiler's figures, and how the estimate compares with them.
fn compared(memory: &MemoryEstimate, report: &CompileReport) -> String {
    let need = report.needed_bytes();
    let place = match need {
        _ if need < memory.low => "below the interval",
        _ if need > memory.high => "above the interval",
        _ => "in the interval",
    };
    // libtpu 0.0.51 reports no temporaries for most programs that return no updated state.
    let note = if report.temp_bytes == 0 { "; the compiler reports no temporaries" } else { "" };
    format!(
        "compiler: arguments {}, outputs {} ({} in place), temporaries {}\n\
         compiler: total {}, {place}; the estimate is {:.3} of it{note}\n",
        bytes(report.argument_bytes),
        bytes(report.output_bytes),
        bytes(report.alias_bytes),
        bytes(report.temp_bytes),
        bytes(need),
        ratio(memory, report),
    )
}

fn text(memory: &MemoryEstimate) -> String {
    let width = memory.width;
    format!(
        "arguments {}, outputs {} ({} in place), temporaries {}\n\
         expected {}, at least {}, at most {}\n\
         width by cause: fusion {}, schedule {}, allocation {}, fast memory {}, other {}\n",
        bytes(memory.arguments),
        bytes(memory.outputs),
        bytes(memory.aliases),
        bytes(memory.temporaries),
        bytes(memory.peak),
        bytes(memory.low),
        bytes(memory.high),
        bytes(width.fusion),
        bytes(width.schedule),
        bytes(width.allocation),
        bytes(width.fast_memory),
        bytes(width.other),
    )
}

/// The estimate as JSON.
pub(super) fn json(memory: &MemoryEstimate) -> serde_json::Value {
    let width = memory.width;
    json!({
        "arguments": memory.arguments,
        "outputs": memory.outputs,
        "aliases": memory.aliases,
        "temporaries": memory.temporaries,
        "low": memory.low,
        "peak": memory.peak,
        "high": memory.high,
        "host": memory.host,
        "width": {
            "fusion": width.fusion,
            "schedule": width.schedule,
            "allocation": width.allocation,
            "fast_memory": width.fast_memory,
            "other": width.other,
        },
    })
}

/// Prints the rules of the memory model.
fn list(ui: &Ui) -> Result<()> {
    ui.result(
        || {
            let mut table = Table::new(&["rule", "stage", "description", "source"]);
            for rule in RULES {
                table.row(vec![rule.id.into(), rule.stage.to_string(), rule.about.into(), rule.source.into()]);
            }
            ui.table(&table)
        },
        || {
            let rules = RULES.iter().map(|rule| {
                json!({ "rule": rule.id, "stage": rule.stage.as_str(), "about": rule.about, "source": rule.source })
            });
            json!({ "version": 1, "rules": rules.collect::<Vec<_>>() })
        },
    )
}
