//! `shardc grad` and `shardc jvp`

use std::process::ExitCode;

use anyhow::Result;
use shardc::Compiler;
use shardc::autodiff::{self, Checkpoint, CustomDerivative, CustomRule, Derivative, Request};

use super::printed;
use crate::args::DerivativeArgs;
use crate::failure::usage;
use crate::job::specialize;
use crate::output::Outputs;
use crate::source::Source;
use crate::ui::Ui;

pub(crate) fn run(args: &DerivativeArgs, derivative: Derivative, ui: &Ui) -> Result<ExitCode> {
    let mut outputs = Outputs::plan(&[("--output", &args.to.output)], &[("the input", &args.input)])?;
    let rules = args.rule.iter().map(|text| rule(text)).collect::<Result<Vec<_>>>()?;
    let checkpoint = Checkpoint {
        keep: args.checkpoint.parse().map_err(|error| usage(format!("--checkpoint {error}")))?,
        offload: args.offload.parse().map_err(|error| usage(format!("--offload {error}")))?,
        layers: args.layers.clone(),
        blocks: args.blocks,
    };
    let source = Source::read(&args.input)?;
    let mut progress = ui.progress();
    progress.stage("read");
    let mut module = Compiler::read(&source.bytes).map_err(|e| source.explain(&e))?;
    specialize(&mut module, args.entry.as_deref(), &args.symbolic, &source)?;
    let located = module.has_locations();
    progress.stage("differentiate");
    let names: Vec<&str> = args.wrt.iter().map(String::as_str).collect();
    let wrt = autodiff::arguments(&module, &names).map_err(|e| source.explain(&e))?;
    let of = match (args.of.as_slice(), derivative) {
        ([], Derivative::Jvp) => autodiff::differentiable_results(&module).map_err(|e| source.explain(&e))?,
        ([], _) => vec![0],
        (of, _) => of.to_vec(),
    };
    let request = Request {
        value: args.value,
        free_shardings: args.free_shardings,
        rules,
        checkpoint,
        ..Request::new(derivative, &wrt, &of)
    };
    autodiff::differentiate(&mut module, &request).map_err(|e| source.explain(&e))?;
    progress.stage("print");
    let program = printed(&module, args.to.form, located).map_err(|e| source.explain(&e))?;
    progress.finish();
    outputs.put(&args.to.output, program)?;
    outputs.commit()?;
    Ok(ExitCode::SUCCESS)
}

/// Parses `NAME=JVP`, `NAME=FORWARD,BACKWARD` or `NAME=stop`.
fn rule(text: &str) -> Result<CustomRule> {
    let parts = text.split_once('=').filter(|(name, rule)| !name.is_empty() && !rule.is_empty());
    let Some((name, rule)) = parts else {
        return Err(usage(format!("--rule {text}: expected NAME=JVP, NAME=FORWARD,BACKWARD or NAME=stop")));
    };
    let derivative = match rule.split_once(',') {
        Some((forward, backward)) => {
            CustomDerivative::Vjp { forward: forward.to_owned(), backward: backward.to_owned() }
        }
        None if rule == "stop" => CustomDerivative::Nothing,
        None => CustomDerivative::Jvp { function: rule.to_owned() },
    };
    Ok(CustomRule { name: name.to_owned(), derivative })
}
