//! `shardc propagate`

use std::process::ExitCode;

use anyhow::Result;
use shardc::{Compiler, Stage};
use shardc_passes::propagate::DebugOptions;
use shardc_passes::rules::RuleSet;

use super::printed;
use crate::args::{PropagateArgs, Rules};
use crate::job;
use crate::observe::Watch;
use crate::output::Outputs;
use crate::reproducer;
use crate::source::Source;
use crate::ui::Ui;

pub(crate) fn run(args: &PropagateArgs, ui: &Ui) -> Result<ExitCode> {
    let timings = args.observe.timings.as_deref().map(|path| ("--timings", path));
    let named: Vec<_> = [("--output", args.to.output.as_path())].into_iter().chain(timings).collect();
    let mut outputs = Outputs::plan(&named, &[args.input.named()])?;
    let debug =
        DebugOptions { origins: args.debug_sharding_origins, edges: args.debug_propagation_edge_sharding };
    let rules = match args.rules {
        Rules::Whole => RuleSet::Whole,
        Rules::Shardy => RuleSet::Shardy,
    };
    let compiler = job::compiler(&args.input.annotations, None)?.debug(debug).rule_set(rules);
    let source = Source::read(&args.input.input)?;
    let mut progress = ui.progress();
    let mut watch = Watch::new(&args.observe, Some(&args.stop), &mut progress)?;
    watch.stage(Stage::Read);
    let module = Compiler::parse(&source.bytes).map_err(|e| source.explain(&e))?;
    let propagated = compiler
        .propagate_observed(module, &mut watch)
        .map_err(|e| source.explain(&reproducer::write(e, &source, &watch)))?;
    let (times, stopped) = (watch.timings(), watch.stopped);
    let stages = progress.finish();
    if let Some(path) = &args.observe.timings {
        outputs.put(path, times.document(&stages, ui))?;
    }
    let Some(mut propagated) = propagated else {
        let module = stopped.unwrap_or_default();
        let options = args.to.form.print_options(module.has_locations());
        outputs.put(&args.to.output, shardc_stablehlo::print(&module, &options))?;
        return outputs.commit().map(|()| ExitCode::SUCCESS);
    };
    if args.emit_gspmd {
        propagated = propagated.into_gspmd().map_err(|e| source.explain(&e))?;
    }
    ui.warn(&source, &propagated.warnings);
    let located = propagated.module.has_locations();
    let program = printed(&propagated.module, args.to.form, located).map_err(|e| source.explain(&e))?;
    outputs.put(&args.to.output, program)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}
