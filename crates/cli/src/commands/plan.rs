//! `shardc plan`

use std::process::ExitCode;

use anyhow::Result;
use shardc::plan::{Plan, PlanOptions};

use crate::args::{PlanArgs, target};
use crate::failure::usage;
use crate::job::{self, Prepared};
use crate::output::Outputs;
use crate::ui::Ui;

pub(crate) fn run(args: &PlanArgs, ui: &Ui) -> Result<ExitCode> {
    let json = args.json.as_deref().map(|path| ("--json", path));
    let mut outputs = Outputs::plan(&args.how.outputs(&[json]), &[args.input.named()])?;
    let target = target(&args.target).map_err(|error| usage(format!("--target: {error}")))?;
    let Prepared { compiler, source, module, warnings } =
        job::prepare(&args.input, &args.how, ui, &mut || {})?;
    ui.warn(&source, &warnings);
    let options = PlanOptions {
        memory: args.how.memory.filter(|&bytes| bytes > 0),
        changes: !args.no_changes && !args.fits,
        ..PlanOptions::new(&source.name, target)
    };
    let Plan { output, report } = compiler.plan(module, &options).map_err(|e| source.explain(&e))?;
    ui.warn_selected(&source, &output.warnings_to_print());
    if let Some(path) = &args.json {
        outputs.put(path, format!("{}\n", report.to_json()))?;
    }
    outputs.commit()?;
    if args.json.is_none() {
        ui.print(if ui.is_json() {
            format!("{}\n", report.to_json())
        } else if args.fits {
            format!("{}\n", report.memory.fit_text())
        } else {
            report.to_text(args.all)
        })?;
    }
    let fits = report.memory.fits || !args.fits;
    Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
