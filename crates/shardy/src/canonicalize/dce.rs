//! Dead code elimination with MLIR's side effects.

use shardc_ir::{Attr, Effect, Module, Op, OpKind, RegionId};
use shardc_passes::internal::dce_where;

/// Removes operations without side effects and without users in a function body; returns whether any were removed.
pub(super) fn dce(module: &mut Module, body: RegionId) -> bool {
    dce_where(module, body, is_without_effect)
}

/// Whether MLIR considers an operation free of side effects. Constraints and collectives are never removed, even without users.
fn is_without_effect(module: &Module, op: &Op) -> bool {
    match &op.kind {
        OpKind::ShardingConstraint(_) | OpKind::MeshCollective(_) => false,
        OpKind::PropagationBarrier { .. } | OpKind::OptimizationBarrier => true,
        OpKind::CustomCall(spec) => {
            !matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
        }
        // The parser keeps a manual computation without operands and results as text, so it has no operation kind of its own.
        OpKind::Opaque(spec) if &*spec.name == "sdy.manual_computation" => inner_have_no_effect(module, op),
        // Like MLIR, this analysis ignores that a loop may not terminate.
        kind => {
            let effect = kind.def().effect;
            (effect.is_pure() || effect == Effect::MayNotEnd) && inner_have_no_effect(module, op)
        }
    }
}

/// Whether the operations in the regions of an operation have no side effects.
fn inner_have_no_effect(module: &Module, op: &Op) -> bool {
    op.regions
        .iter()
        .flat_map(|&region| module.walk(region))
        .all(|op| matches!(module.ops[op].kind, OpKind::Return) || is_without_effect(module, &module.ops[op]))
}
