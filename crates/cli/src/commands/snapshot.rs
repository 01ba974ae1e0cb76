//! `shardc snapshot`

use std::process::ExitCode;

use anyhow::{Context, Result};
use shardc::Stage;
use shardc::snapshot::Snapshot;

use crate::args::SnapshotArgs;
use crate::job::{self, Prepared};
use crate::observe::Watch;
use crate::output::Outputs;
use crate::ui::Ui;

pub(crate) fn run(args: &SnapshotArgs, ui: &Ui) -> Result<ExitCode> {
    let named = args.how.outputs(&[Some(("--output", &args.output))]);
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let mut progress = ui.progress();
    let mut watch = Watch::new(&args.how.observe, None, &mut progress)?;
    let Prepared { compiler, source, module, warnings } =
        job::prepare(&args.input, &args.how, ui, &mut || watch.stage(Stage::Read))?;
    let output = compiler.partition_observed(module.clone(), &mut watch).map_err(|e| source.explain(&e))?;
    let output = output.context("the pass pipeline ended before its last pass")?;
    let timings = watch.timings();
    let stages = progress.finish();
    ui.warn(&source, &warnings);
    if let Some(path) = &args.how.observe.timings {
        outputs.put(path, timings.document(&stages, ui))?;
    }
    let snapshot = Snapshot::of(&output, &module);
    let text = if ui.is_json() { format!("{}\n", snapshot.to_json()) } else { snapshot.to_text() };
    outputs.put(&args.output, text)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}
