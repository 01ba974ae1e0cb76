//! Keeps values unreduced (as partial sums), so that fewer or smaller values are all-reduced.

mod delay;
mod flow;
mod regions;

use shardc_ir::{Diagnostic, FuncId, Module};

use super::{Planning, prepare};

/// The pass `delay-reductions`: defers all-reduces past users that shrink the reduced value (see [`delay`]).
///
/// # Errors
/// Returns SH0301 or SH0391.
pub(crate) fn delay_reductions(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<(), Vec<Diagnostic>> {
    let (body, mesh) = planning.place(module, func)?;
    // From here on, a returned value may be unreduced although the function returns the reduced value.
    prepare::close_results(module, func, body, mesh);
    delay::keep_unreduced(module, body);
    Ok(())
}

/// The pass `propagate-unreduced`: values between an unreduced producer and an unreduced use stay unreduced, first across loops and
/// branches ([`regions`]), then through operations ([`flow`]).
///
/// # Errors
/// Returns SH0301 or SH0391.
pub(crate) fn propagate_unreduced(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<(), Vec<Diagnostic>> {
    let (body, mesh) = planning.place(module, func)?;
    let results = prepare::close_results(module, func, body, mesh);
    if regions::any_unreduced(module, body) {
        regions::settle(module, body);
        flow::flow(module, body, &results);
    }
    Ok(())
}
