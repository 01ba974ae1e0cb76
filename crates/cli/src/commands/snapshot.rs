//! `shardc snapshot`

use std::process::ExitCode;

use anyhow::{Context, Result};
use shardc::snapshot::Snapshot;
use shardc::{Compiler, Module, Output, Stage};

use super::partition::check_devices;
use crate::args::{HowArgs, SnapshotArgs};
use crate::job::{self, Prepared};
use crate::observe::Watch;
use crate::output::Outputs;
use crate::source::Source;
use crate::target::Chosen;
use crate::ui::Ui;

pub(crate) fn run(args: &SnapshotArgs, ui: &Ui) -> Result<ExitCode> {
    let named = args.how.outputs(&[Some(("--output", &args.output))]);
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let mut progress = ui.progress();
    let mut watch = Watch::new(&args.how.observe, None, &mut progress)?;
    let source = Source::read(&args.input.input)?;
    watch.stage(Stage::Read);
    let module = Compiler::parse(&source.bytes).map_err(|e| source.explain(&e))?;
    let how = args.how.for_machine(args.target.chosen()?);
    let Prepared { compiler, module, warnings } =
        job::prepare(module, &source, &args.input.annotations, &how, ui)?;
    let output = compiler.partition_observed(module.clone(), &mut watch).map_err(|e| source.explain(&e))?;
    let output = output.context("the pass pipeline ended before its last pass")?;
    let timings = watch.timings();
    let stages = progress.finish();
    ui.warn(&source, &warnings);
    if let Some(path) = &args.how.observe.timings {
        outputs.put(path, timings.document(&stages, ui))?;
    }
    let snapshot = snapshot(&output, &module, &how)?;
    let text = if ui.is_json() { format!("{}\n", snapshot.to_json()) } else { snapshot.to_text() };
    outputs.put(&args.output, text)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}

/// The snapshot of a program; with the predicted time, if the target has a grid.
pub(super) fn snapshot(output: &Output, module: &Module, how: &HowArgs) -> Result<Snapshot> {
    let snapshot = Snapshot::of(output, module);
    check_devices(how.machine.as_ref(), output)?;
    Ok(match &how.machine {
        Some(Chosen::Target(target)) => snapshot.with_target(&target.to_string()).with_time(output, target),
        Some(Chosen::Device(device)) => snapshot.with_target(&device.name),
        None => snapshot,
    })
}
