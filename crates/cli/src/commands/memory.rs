//! `shardc memory`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc_passes::cost::memory::{MemoryEstimate, Model, RULES, RuleSet, estimate, stage_text};

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
    let how = args.how.for_machine(args.target.chosen()?);
    let mut job = job::partition(&input, &how, ui)?;
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
    ui.result(|| text(&memory), || json(&memory))?;
    Ok(ExitCode::SUCCESS)
}

fn text(memory: &MemoryEstimate) -> String {
    let width = memory.width;
    format!(
        "arguments {}, outputs {} ({} in place), temporaries {}\n\
         expected {}, at least {}, at most {}\n\
         width by cause: fusion {}, schedule {}, allocation {}\n",
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
        "width": { "fusion": width.fusion, "schedule": width.schedule, "allocation": width.allocation },
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
