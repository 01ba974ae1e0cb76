//! Devices that hold different values of one block: a bug in the program or in shardc.

use shardc_ir::{AxisList, AxisRef, Diagnostic, Module, OpId, OpKind, RegionId};
use shardc_passes::gspmd::import_gspmd;
use shardc_passes::internal::axes_results_vary_along;
use shardc_passes::transforms::inline::inline_calls;
use shardc_runtime::ReplicaDisagreement;

use crate::Error;

/// The code of an error about devices that disagree, before it is attributed to a manual computation of the program.
const DISAGREEMENT: &str = "SH0790";

/// The error for devices that should hold copies of a block of output `index`, but hold different values.
#[must_use]
pub fn disagreement(index: usize, found: &ReplicaDisagreement) -> Error {
    let message = format!("devices disagree on a block of output {index} that they share: {found}");
    Diagnostic::internal(DISAGREEMENT, message).into()
}

/// Returns an error that blames the program (SH0328), if devices disagree and results of the program's manual computations may differ along
/// axes that their shardings do not contain. Other errors are returned unchanged.
#[must_use]
pub fn attribute_disagreement(original: &Module, error: Error) -> Error {
    let diagnostics = error.diagnostics();
    let found = diagnostics.iter().find(|found| found.code == DISAGREEMENT);
    match found.and_then(|found| results_that_differ(original, &found.message)) {
        Some(diagnostic) => diagnostic.into(),
        None => error,
    }
}

/// Rejects a program if an output is wrong that may differ between devices: such an output cannot be compared with a single-device output.
///
/// # Errors
/// A manual computation returns different values on devices (SH0328).
pub(super) fn refuse_results_that_differ(original: &Module, wrong: Option<usize>) -> Result<(), Error> {
    let Some(wrong) = wrong else { return Ok(()) };
    let consequence = format!("output {wrong} differs between devices");
    match results_that_differ(original, &consequence) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Finds the first manual computation with a result that may differ between devices along axes that are not in the result's sharding.
/// Returns an error that names the computation, or `None` if there is none. `consequence` describes the observed difference.
fn results_that_differ(original: &Module, consequence: &str) -> Option<Diagnostic> {
    let mut module = original.clone();
    // If GSPMD shardings cannot be converted or calls cannot be inlined, the program is searched as it is.
    if import_gspmd(&mut module, None).is_err() || inline_calls(&mut module).is_err() {
        module = original.clone();
    }
    let mut found = None;
    for body in module.bodies().collect::<Vec<_>>() {
        search(&module, body, &mut Vec::new(), &mut found);
    }
    let (op, result, axes) = found?;
    let OpKind::ManualComputation(spec) = &module.ops[op].kind else { return None };
    let mesh = spec.out_shardings.get(result).map(|&sharding| module.shardings.get(sharding).mesh);
    let names: Vec<String> = axes
        .iter()
        .map(|&axis| {
            mesh.map_or_else(String::new, |mesh| format!("\"{}\"", module.meshes[mesh].axis_name(axis)))
        })
        .collect();
    let (names, axis) = (names.join(", "), if axes.len() == 1 { "axis" } else { "axes" });
    let message = format!(
        "result {result} of this {} can differ between devices along the {axis} {names}, which its out_sharding does not contain: {consequence}",
        module.ops[op].kind.name()
    );
    let mut error = Diagnostic::invalid("SH0328", message).at(module.ops[op].span).hint(format!(
        "combine the blocks along {names} before the return (an all_reduce or all_gather makes them equal), or shard the \
         result along {names}"
    ));
    error.user_loc = module.user_loc(op);
    Some(error)
}

/// Searches a region and its nested regions; `outer` are the manual axes of the enclosing computations.
fn search(
    module: &Module,
    region: RegionId,
    outer: &mut Vec<AxisRef>,
    found: &mut Option<(OpId, usize, AxisList)>,
) {
    for &op in module.regions[region].ops.iter() {
        if found.is_some() {
            return;
        }
        let before = outer.len();
        if let OpKind::ManualComputation(spec) = &module.ops[op].kind {
            let varying = axes_results_vary_along(module, op, outer).into_iter().enumerate();
            *found = varying.filter(|(_, axes)| !axes.is_empty()).map(|(i, axes)| (op, i, axes)).next();
            outer.extend(spec.manual_axes.iter().copied());
        }
        for &inner in &module.ops[op].regions {
            search(module, inner, outer, found);
        }
        outer.truncate(before);
    }
}
