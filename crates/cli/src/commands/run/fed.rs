//! The results that become arguments of the next step.

use anyhow::Result;
use shardc::Interface;
use shardc_passes::annotations::names::{Named, Names};

use super::names::path;
use crate::args::StateArgs;
use crate::failure::{Failure, usage};

/// Pairs of a result and the argument of the next step that it becomes. The pairs of `--feed` have priority, then pairs by donation, then
/// pairs by name. Each argument occurs at most once.
///
/// # Errors
/// `--feed` has an unknown name, or a result and an argument of different types; or several steps are requested, and there are no pairs.
pub(super) fn pairs(args: &StateArgs, interface: &Interface, names: &Names) -> Result<Vec<(usize, usize)>> {
    let (inputs, outputs) = (&interface.inputs, &interface.outputs);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for text in &args.feed {
        let (result, argument) = text
            .split_once('=')
            .ok_or_else(|| usage(format!("--feed {text}: expected RESULT=ARG, as in res0=arg0")))?;
        let refused = |error| Failure::of(&shardc::Error::from(error), "--feed", "");
        let argument = names.find_argument(argument).map_err(refused)?;
        let Named::Result(result) = names.find(result).map_err(refused)? else {
            return Err(usage(format!(
                "--feed: {result} is an argument, but the name before the `=` must be a result"
            )));
        };
        let (from, to) = (&outputs[result].global, &inputs[argument].global);
        if from != to {
            return Err(usage(format!(
                "--feed {text}: the result has type {from}, but the argument has type {to}"
            )));
        }
        pairs.push((result, argument));
    }
    let donated = inputs.iter().enumerate().filter_map(|(i, input)| Some((input.donated_to?, i)));
    let named = inputs.iter().enumerate().filter_map(|(i, input)| {
        let name = path(input.name.as_deref()?);
        let same = |output: &shardc::InterfaceTensor| {
            output.name.as_deref().is_some_and(|other| path(other) == name) && output.global == input.global
        };
        Some((outputs.iter().position(same)?, i))
    });
    for (result, argument) in donated.chain(named) {
        if !pairs.iter().any(|&(_, known)| known == argument) {
            pairs.push((result, argument));
        }
    }
    match args.steps {
        Some(steps) if steps > 1 && pairs.is_empty() => Err(Failure::Usage {
            message: format!("--steps {steps}: no result becomes an argument of the next step"),
            hint: Some(
                "donate arguments (tf.aliasing_output), give results the same names as arguments, or use --feed res0=arg0"
                    .to_owned(),
            ),
        }
        .into()),
        _ => Ok(pairs),
    }
}
