//! Verifies C4 in the input program: finds collectives in manual computations that devices may execute a different number of times.
//!
//! A program in which devices execute a collective a different number of times hangs, regardless of how it is partitioned. The input
//! program is checked before planning, so that later violations of C4 are known to be bugs in shardc.

use shardc_ir::{Diagnostic, Module, OpId, OpKind, RegionId};

use super::convergence;
use crate::analysis::regions::program_ops;
use crate::manual::mesh_of;

/// Returns an error (SH0326) for each collective under a condition on which devices may disagree.
pub(crate) fn written_partings(module: &Module, body: RegionId) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for op in program_ops(module, body) {
        let OpKind::ManualComputation(spec) = &module.ops[op].kind else { continue };
        let Some(mesh) = mesh_of(module, spec).filter(|_| meets_under_a_condition(module, op)) else {
            continue;
        };
        // Nested manual computations are analyzed with the outermost one.
        let divergences = match convergence::divergences(module, op, &module.meshes[mesh]) {
            Ok(divergences) => divergences,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        for (op, a, b) in divergences {
            let message = format!(
                "devices {a} and {b} take part in this {}, but the condition on which they execute it may differ between them: the program may hang",
                module.ops[op].kind.name()
            );
            let mut error = Diagnostic::invalid("SH0326", message).at(module.ops[op].span).hint(
                "make the condition depend on a value that is equal on all devices of the group (the result of an all_reduce, for example), or move the collective out of the condition",
            );
            error.user_loc = module.user_loc(op);
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    errors
}

/// Whether a loop or branch within `op`, a manual computation, contains a collective.
fn meets_under_a_condition(module: &Module, op: OpId) -> bool {
    let regions = module.ops[op].regions.iter();
    let inner = regions.flat_map(|&region| module.walk(region));
    let conditions =
        inner.filter(|&op| matches!(module.ops[op].kind, OpKind::While | OpKind::Case | OpKind::If));
    let meets = |region: &RegionId| {
        module.walk(*region).into_iter().any(|op| module.ops[op].collective_spec().is_some())
    };
    conditions.flat_map(|op| &module.ops[op].regions).any(meets)
}
