//! `shardc explain`

use std::process::ExitCode;

use anyhow::Result;
use shardc::Compiler;
use shardc::explain::{CollectiveFilter, ExplainOptions, Question};

use crate::args::{AnnotationArgs, ExplainArgs, SymbolicArgs};
use crate::job;
use crate::output::Outputs;
use crate::source::Source;
use crate::target;
use crate::ui::Ui;

pub(crate) fn run(args: &ExplainArgs, ui: &Ui) -> Result<ExitCode> {
    let json = args.json.as_deref().map(|path| ("--json", path));
    let html = args.html.as_deref().map(|path| ("--html", path));
    let named: Vec<_> = json.into_iter().chain(html).collect();
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let strategy = args.strategy.chosen(false, ui)?;
    // A strategy adds its own mesh to the program, and requires static shapes.
    let annotations = match strategy {
        Some(_) => {
            AnnotationArgs { mesh: None, symbolic: SymbolicArgs::default(), ..args.input.annotations.clone() }
        }
        None => args.input.annotations.clone(),
    };
    let mut compiler = job::with_rules(job::compiler(&annotations, None)?, &args.rules)?;
    let target = args.target.chosen()?;
    compiler = target::configure(compiler, target.as_ref());
    if let Some(operations) = args.inline.inline_budget {
        compiler = compiler.inline_budget(operations);
    }
    let source = Source::read(&args.input.input)?;
    let filter = CollectiveFilter {
        kinds: args.select.kind.clone(),
        axes: args.select.axis.clone(),
        classes: args.select.class.clone(),
        min_bytes: args.select.min_bytes,
    };
    let question = if let Some(name) = &args.value {
        Question::Value(name.clone())
    } else if let Some(name) = &args.arg {
        name.parse().map_or_else(|_| Question::Value(name.clone()), Question::Argument)
    } else if let Some(name) = &args.result {
        name.parse().map_or_else(|_| Question::Value(name.clone()), Question::Result)
    } else if let Some(line) = args.line {
        Question::Line(line)
    } else if let Some(number) = args.collective {
        Question::Collective(number)
    } else if !filter.is_empty() {
        Question::Collectives
    } else if args.html.is_none() && args.json.is_none() && !ui.is_json() {
        Question::Overview
    } else {
        Question::Summary
    };
    let options = ExplainOptions { filter, remedies: args.remedies };
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    if let Some(strategy) = &strategy {
        let AnnotationArgs { mesh, entry, symbolic, .. } = &args.input.annotations;
        job::specialize(&mut module, entry.as_deref(), symbolic, &source)?;
        ui.warn(&source, &strategy.annotate(&mut module, mesh.as_deref(), &source)?);
    }
    let text = source.text();
    let explained = compiler.explain_module(module, (&source.name, &text), &question, &options);
    let mut report = explained.map_err(|e| source.explain(&e))?.report;
    if target.is_none() && report.totals.is_some_and(|totals| totals.collectives > 0) {
        report.notes.push(format!("no --target is given: planned for {}, with equal links", report.target));
    }
    if let Some(path) = &args.html {
        outputs.put(path, report.to_html())?;
    }
    if let Some(path) = &args.json {
        outputs.put(path, format!("{}\n", report.to_json()))?;
    }
    outputs.commit()?;
    ui.wrote(&named);
    if args.html.is_none() && args.json.is_none() {
        ui.print(if ui.is_json() {
            format!("{}\n", report.to_json())
        } else {
            report.to_text_within(args.all, ui.width().unwrap_or(usize::MAX))
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
