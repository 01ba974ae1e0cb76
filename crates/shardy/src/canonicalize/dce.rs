//! What nothing uses and has no effect goes.

use shardc_ir::{Attr, Effect, Module, Op, OpKind, RegionId};
use shardc_passes::internal::dce_where;

/// Removes operations without effect and without uses under a function body; tells whether there were any.
pub(super) fn dce(module: &mut Module, body: RegionId) -> bool {
    dce_where(module, body, is_without_effect)
}

/// Whether MLIR takes an operation to have no effect. Constraints and collectives stay, whoever uses them.
fn is_without_effect(module: &Module, op: &Op) -> bool {
    match &op.kind {
        OpKind::ShardingConstraint(_) | OpKind::MeshCollective(_) => false,
        OpKind::PropagationBarrier { .. } | OpKind::OptimizationBarrier => true,
        OpKind::CustomCall(spec) => {
            !matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
        }
        // Without values it is not read as a manual computation.
        OpKind::Opaque(spec) if &*spec.name == "sdy.manual_computation" => inner_have_no_effect(module, op),
        // MLIR does not ask whether a loop ends.
        kind => {
            let effect = kind.def().effect;
            (effect.is_pure() || effect == Effect::MayNotEnd) && inner_have_no_effect(module, op)
        }
    }
}

/// Whether an operation that does what its regions do has no effect.
fn inner_have_no_effect(module: &Module, op: &Op) -> bool {
    op.regions
        .iter()
        .flat_map(|&region| module.walk(region))
        .all(|op| matches!(module.ops[op].kind, OpKind::Return) || is_without_effect(module, &module.ops[op]))
}
