//! `shardc plan`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use shardc::explain::{ExplainOptions, Question};
use shardc::plan::{Plan, PlanOptions};
use shardc::{Compiler, page};

use super::sweep;
use crate::args::PlanArgs;
use crate::failure::usage;
use crate::job::{self, Prepared};
use crate::observe::Watch;
use crate::output::{Named, Outputs};
use crate::source::Source;
use crate::target::Chosen;
use crate::ui::Ui;

/// The options that name an output file.
fn written<'a>(files: &[Option<Named<'a>>]) -> Vec<Named<'a>> {
    files.iter().copied().flatten().collect()
}

pub(crate) fn run(args: &PlanArgs, ui: &Ui) -> Result<ExitCode> {
    let named = [("--json", &args.json), ("--html", &args.html), ("--trace", &args.trace)];
    let files = named.map(|(option, path)| path.as_deref().map(|path| (option, path)));
    let mut outputs = Outputs::plan(&args.how.outputs(&files), &[args.input.named()])?;
    let source = Source::read(&args.input.input)?;
    let module = Compiler::parse(&source.bytes).map_err(|e| source.explain(&e))?;
    let Some(name) = &args.target else {
        let (text, fits) = sweep::run(args, &source, &module, ui)?;
        match &args.json {
            Some(path) => outputs.put(path, text)?,
            None => ui.print(text)?,
        }
        outputs.commit()?;
        ui.wrote(&written(&files));
        return Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let chosen = Chosen::parse(name)?;
    let Chosen::Target(target) = &chosen else {
        return Err(usage(format!(
            "--target {name}: a plan needs the grid of the devices, as in v5e:2x4, v5p:2x2x2, h100:8 or h100:2x8"
        )));
    };
    let options = PlanOptions {
        memory: args.how.memory.filter(|&bytes| bytes > 0),
        changes: !args.no_changes && !args.fits,
        ..PlanOptions::new(&source.name, Arc::clone(target))
    };
    let how = args.how.for_machine(Some(chosen.clone()));
    let Prepared { compiler, module, warnings } =
        job::prepare(module, &source, &args.input.annotations, &how, ui)?;
    ui.warn(&source, &warnings);
    let mut progress = ui.progress();
    let mut watch = Watch::new(&how.observe, None, &mut progress)?;
    let planned = compiler.plan_observed(module.clone(), &options, &mut watch);
    let timings = watch.timings();
    let stages = progress.finish();
    let Plan { output, report } = planned.map_err(|e| source.explain(&e))?;
    if let Some(path) = &how.observe.timings {
        outputs.put(path, timings.document(&stages, ui))?;
    }
    ui.warn_selected(&source, &output.warnings_to_print());
    let json = || format!("{}\n", report.to_json());
    if let Some(path) = &args.json {
        outputs.put(path, json())?;
    }
    if let Some(path) = &args.trace {
        outputs.put(path, report.to_trace_json())?;
    }
    if let Some(path) = &args.html {
        let text = source.text();
        let explained = compiler
            .explain_module(module, (&source.name, &text), &Question::Summary, &ExplainOptions::default())
            .map_err(|e| source.explain(&e))?;
        outputs.put(path, page::render(&explained.report, Some(&report)))?;
    }
    outputs.commit()?;
    ui.wrote(&written(&files));
    if files.iter().all(Option::is_none) {
        ui.print(match (ui.is_json(), args.fits) {
            (true, _) => json(),
            (false, true) => format!("{}\n", report.memory.fit_text()),
            (false, false) => ui.fitted(report.to_text(args.all)),
        })?;
    }
    let fits = report.memory.fits || !args.fits;
    // Since the process exits next, freeing the memory of the program would only take time.
    std::mem::forget(output);
    Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
