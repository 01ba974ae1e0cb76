//! `shardc auto`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use shardc::auto::{Auto, AutoOptions};
use shardc::target::Target;

use super::printed;
use crate::args::AutoArgs;
use crate::failure::usage;
use crate::job;
use crate::output::Outputs;
use crate::search;
use crate::source::Source;
use crate::target::Chosen;
use crate::ui::Ui;

pub(crate) fn run(args: &AutoArgs, ui: &Ui) -> Result<ExitCode> {
    let named = [("--output", &args.output), ("--json", &args.json)];
    let files = named.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    let files: Vec<(&str, &Path)> = files.collect();
    let mut outputs = Outputs::plan(&files, &[args.input.named()])?;
    let annotations = &args.input.annotations;
    let target = target(args)?;
    let source = Source::read(&args.input.input)?;
    let options = AutoOptions {
        memory: args.memory.filter(|&bytes| bytes > 0),
        ignores_shardings: args.ignore_shardings,
        ..search::options(&source.name, annotations, target)?
    };
    let compiler = job::compiler(&search::without_shardings(annotations), None)?;
    let compiler = job::with_rules(compiler, &args.rules)?;
    let mut progress = ui.progress();
    progress.stage("read");
    let module = job::original(&source, annotations)?;
    let is_located = module.has_locations();
    progress.stage("search");
    let Auto { module, report } = compiler.auto(module, &options).map_err(|e| source.explain(&e))?;
    progress.finish();
    if let Some(path) = &args.output {
        outputs.put(path, printed(&module, args.form, is_located).map_err(|e| source.explain(&e))?)?;
    }
    if let Some(path) = &args.json {
        outputs.put(path, format!("{}\n", report.to_json()))?;
    }
    outputs.commit()?;
    let is_on_stdout = files.iter().any(|(_, path)| *path == Path::new("-"));
    if !is_on_stdout {
        ui.print(if ui.is_json() { format!("{}\n", report.to_json()) } else { ui.fitted(report.to_text()) })?;
    }
    Ok(if report.fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The target of the options.
fn target(args: &AutoArgs) -> Result<Arc<Target>> {
    match (Chosen::parse(&args.target)?, args.devices) {
        (Chosen::Target(target), None) => Ok(target),
        (Chosen::Target(target), Some(devices)) if target.num_devices() == devices as usize => Ok(target),
        (Chosen::Target(target), Some(devices)) => {
            Err(usage(format!("--devices {devices}: {target} has {} devices", target.num_devices())))
        }
        (Chosen::Device(device), Some(devices)) => Target::with_devices(device, devices)
            .map(Arc::new)
            .map_err(|error| usage(format!("--devices {devices}: {error}"))),
        (Chosen::Device(device), None) => {
            Err(usage(format!("--target {}: use --devices too, as in --devices 16", device.name)))
        }
    }
}
