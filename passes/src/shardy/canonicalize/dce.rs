//! What nothing uses and has no effect goes.

use shardc_ir::{Attr, EntityRef, Module, Op, OpKind, RegionId};

use crate::transforms::dce::is_pure;

/// Removes operations without effect and without uses under a function body; tells whether there were any.
pub(super) fn sweep(module: &mut Module, body: RegionId) -> bool {
    let mut uses = vec![0u32; module.values.len()];
    for op in module.walk(body) {
        for v in &module.ops[op].operands {
            uses[v.index()] += 1;
        }
    }
    sweep_region(module, body, &mut uses)
}

fn sweep_region(module: &mut Module, region: RegionId, uses: &mut [u32]) -> bool {
    let old = std::mem::take(&mut module.regions[region].ops);
    let before = old.len();
    let mut kept = Vec::with_capacity(before);
    let mut inner_changed = false;
    for op in old.into_iter().rev() {
        let unused = module.ops[op].results.iter().all(|v| uses[v.index()] == 0);
        if unused && is_without_effect(module, &module.ops[op]) {
            let inner = module.ops[op].regions.iter().flat_map(|&r| module.walk(r)).collect::<Vec<_>>();
            for dead in inner.into_iter().chain([op]) {
                for v in &module.ops[dead].operands {
                    uses[v.index()] -= 1;
                }
            }
            continue;
        }
        for inner in module.ops[op].regions.clone() {
            inner_changed |= sweep_region(module, inner, uses);
        }
        kept.push(op);
    }
    kept.reverse();
    let changed = inner_changed || kept.len() < before;
    module.regions[region].ops = kept;
    changed
}

/// Whether MLIR takes an operation to have no effect. Constraints and collectives stay, whoever uses them.
fn is_without_effect(module: &Module, op: &Op) -> bool {
    match &op.kind {
        OpKind::ShardingConstraint(_) | OpKind::MeshCollective(_) => false,
        OpKind::PropagationBarrier { .. } | OpKind::OptimizationBarrier | OpKind::AfterAll => true,
        OpKind::CustomCall(spec) => {
            !matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
        }
        // Without values it is not read as a manual computation.
        OpKind::Opaque(spec) if &*spec.name == "sdy.manual_computation" => inner_have_no_effect(module, op),
        OpKind::While
        | OpKind::Case
        | OpKind::If
        | OpKind::ManualComputation(_)
        | OpKind::NamedComputation(_) => inner_have_no_effect(module, op),
        kind => is_pure(kind),
    }
}

/// Whether an operation that does what its regions do has no effect.
fn inner_have_no_effect(module: &Module, op: &Op) -> bool {
    op.regions
        .iter()
        .flat_map(|&region| module.walk(region))
        .all(|op| matches!(module.ops[op].kind, OpKind::Return) || is_without_effect(module, &module.ops[op]))
}
