//! Replaces reshards by the collectives that they take.

use shardc_ir::{
    Builder, Diagnostic, EntityRef, MeshCollective, MeshCollectiveKind, Module, OpId, OpKind, RegionId,
    TensorSharding, ValueId,
};

use super::{Planner, Step};
use crate::forward::Forward;

/// Replaces each [`OpKind::Reshard`] and [`OpKind::ShardingConstraint`] under `body` by a sequence of
/// [`OpKind::MeshCollective`]s; one that changes nothing vanishes.
///
/// # Errors
/// A reshard to a pending sum that its operand is not (`SH0402`).
pub fn lower_reshards(module: &mut Module, body: RegionId) -> Result<(), Vec<Diagnostic>> {
    let meshes = module.meshes.clone();
    let mut planners: Vec<Planner<'_>> = meshes.values().map(Planner::new).collect();
    let mut forward = Forward::default();
    let mut errors = Vec::new();
    lower_region(module, body, &mut planners, &mut forward, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn lower_region(
    module: &mut Module,
    region: RegionId,
    planners: &mut [Planner<'_>],
    forward: &mut Forward,
    errors: &mut Vec<Diagnostic>,
) {
    let ops = std::mem::take(&mut module.regions[region].ops);
    let mut out = Vec::with_capacity(ops.len());
    for op in ops {
        forward.rewrite(&mut module.ops[op].operands);
        if let OpKind::Reshard(to) | OpKind::ShardingConstraint(to) = module.ops[op].kind {
            let operand = module.ops[op].operands[0];
            let (Some(from), Some(ty)) = (module.shardings.sharding_of(operand), module.stored(operand))
            else {
                forward.set(module.ops[op].results[0], operand);
                continue;
            };
            let to = module.shardings.get(to);
            if from.same_placement(to) {
                forward.set(module.ops[op].results[0], operand);
                continue;
            }
            let planner = &mut planners[from.mesh.index()];
            let steps = if from.mesh == to.mesh {
                planner.path(from, to, ty).map(|path| path.steps.clone())
            } else {
                // The devices in another order: each block goes to the one that has its place.
                let same = from.same_placement(&TensorSharding { mesh: from.mesh, ..to.clone() });
                same.then(|| vec![Step { kind: MeshCollectiveKind::CollectivePermute, out: to.clone() }])
            };
            match steps {
                Some(steps) => {
                    let result = emit(module, op, operand, steps, &mut out);
                    forward.set(module.ops[op].results[0], result);
                }
                None => {
                    let mesh = &module.meshes[to.mesh];
                    errors.push(
                        Diagnostic::unsupported(
                            "SH0402",
                            format!(
                                "no way from sharding {} to {}",
                                from.display(&module.meshes[from.mesh]),
                                to.display(mesh)
                            ),
                        )
                        .at(module.ops[op].span)
                        .hint("only an operation over the axis makes a pending sum (unreduced); annotate its result instead"),
                    );
                }
            }
            continue;
        }
        for inner in module.ops[op].regions.clone() {
            lower_region(module, inner, planners, forward, errors);
        }
        out.push(op);
    }
    module.regions[region].ops = out;
}

fn emit(module: &mut Module, at: OpId, operand: ValueId, steps: Vec<Step>, out: &mut Vec<OpId>) -> ValueId {
    let mut value = operand;
    for step in steps {
        let ty = module.values[value].ty;
        let mesh = step.out.mesh;
        let sharding = module.shardings.intern(step.out);
        let mut b = Builder::new(module);
        b.from_op(at);
        let collective = MeshCollective { mesh, kind: step.kind, out: sharding };
        value = b.op1(OpKind::MeshCollective(Box::new(collective)), &[value], ty);
        out.extend(b.take());
        module.shardings.set(value, Some(sharding));
    }
    value
}
