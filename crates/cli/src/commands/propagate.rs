//! `shardc propagate`

use std::process::ExitCode;

use anyhow::Result;
use shardc::Compiler;
use shardc_passes::propagate::DebugOptions;
use shardc_passes::rules::RuleSet;

use crate::args::{Emit, PropagateArgs, Rules};
use crate::job;
use crate::output::Outputs;
use crate::source::Source;
use crate::ui::Ui;

pub(crate) fn run(args: &PropagateArgs, ui: &Ui) -> Result<ExitCode> {
    let mut outputs = Outputs::plan(&[("--output", &args.output)], &[args.input.named()])?;
    let debug =
        DebugOptions { origins: args.debug_sharding_origins, edges: args.debug_propagation_edge_sharding };
    let rules = match args.rules {
        Rules::Whole => RuleSet::Whole,
        Rules::Shardy => RuleSet::Shardy,
    };
    let compiler = job::compiler(&args.input.annotations, None)?.debug(debug).rule_set(rules);
    let source = Source::read(&args.input.input)?;
    let propagated = Compiler::read(&source.bytes)
        .and_then(|module| compiler.propagate(module))
        .and_then(|propagated| if args.emit_gspmd { propagated.into_gspmd() } else { Ok(propagated) })
        .map_err(|e| source.explain(&e))?;
    ui.warn(&source, &propagated.warnings);
    let program = match args.emit {
        Emit::Pretty => propagated.text().into_bytes(),
        Emit::Generic => propagated.generic_text().into_bytes(),
        Emit::Bytecode => Compiler::write_bytecode(&propagated.module).map_err(|e| source.explain(&e))?,
    };
    outputs.put(&args.output, program)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}
