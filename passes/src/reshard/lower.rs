//! Lowers each `reshard` to a sequence of collectives.
//!
//! ```mlir
//! %0 = sdy.reshard %x <@mesh, [{}, {"x"}]> : tensor<8x8xf32>             // %x: [{"x"}, {}]
//! ```
//! becomes
//! ```mlir
//! %0 = all_to_all %x                                                     // "x": dimension 0 to dimension 1
//! ```

use shardc_ir::{
    Build, Class, Diagnostic, EntityRef, MeshCollective, MeshCollectiveKind, Module, OpId, OpKind, RegionId,
    Rewriter, TensorSharding, ValueId,
};

use super::{Planner, ReshardStep};
use crate::analysis::trip_count::trips;
use crate::cost::CostModel;
use crate::report::byte_size::bytes_text;
use crate::report::warnings::counted;

/// Replaces each [`OpKind::Reshard`] and [`OpKind::ShardingConstraint`] under `body` by a sequence of [`OpKind::MeshCollective`]s, or by
/// its operand if both shardings place the same blocks on each device. Returns warnings (`SH0318`) about values that are sharded before and
/// after, but replicated in between.
///
/// # Errors
/// Returns `SH0402` for a reshard between meshes that differ in more than the order of devices.
pub fn lower_reshards(
    module: &mut Module,
    body: RegionId,
    model: &CostModel,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let meshes = module.meshes.clone();
    let mut planners: Vec<Planner<'_>> = meshes.values().map(|mesh| Planner::new(mesh, model)).collect();
    let mut found = Findings::default();
    lower_region(&mut Rewriter::new(module), body, 1, &mut planners, &mut found);
    if found.errors.is_empty() { Ok(found.warnings) } else { Err(found.errors) }
}

/// Diagnostics about the reshards that were lowered.
#[derive(Default)]
struct Findings {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

/// Lowers the reshards of a region that is executed `runs` times.
fn lower_region(
    rw: &mut Rewriter<'_>,
    region: RegionId,
    runs: u64,
    planners: &mut [Planner<'_>],
    found: &mut Findings,
) {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let module = &mut *rw.module;
        if let OpKind::Reshard(to) | OpKind::ShardingConstraint(to) = module.ops[op].kind {
            let operand = module.ops[op].operands[0];
            let (Some(from), Some(ty)) = (module.shardings.sharding_of(operand), module.stored(operand))
            else {
                rw.replace(&[operand]);
                continue;
            };
            let to = module.shardings.get(to);
            if from.same_placement(to) {
                rw.replace(&[operand]);
                continue;
            }
            let planner = &mut planners[from.mesh.index()];
            let steps = if from.mesh == to.mesh {
                planner.path(from, to, ty).map(|path| path.steps.clone())
            } else {
                // The meshes differ in device order: each block is sent to the device at the same position in the other mesh.
                let same = from.same_placement(&TensorSharding { mesh: from.mesh, ..to.clone() });
                same.then(|| {
                    vec![ReshardStep { kind: MeshCollectiveKind::CollectivePermute, out: to.clone() }]
                })
            };
            match steps {
                Some(steps) => {
                    let warning = whole_between(module, op, from, to, &steps);
                    found.warnings.extend(warning.map(|warning| counted(warning, runs)));
                    let result = emit(rw, operand, steps);
                    rw.replace(&[result]);
                }
                None => {
                    let mesh = &module.meshes[to.mesh];
                    found.errors.push(
                        Diagnostic::unsupported(
                            "SH0402",
                            format!(
                                "cannot reshard from {} to {}",
                                from.display(&module.meshes[from.mesh]),
                                to.display(mesh)
                            ),
                        )
                        .at(module.ops[op].span)
                        .hint("use one mesh for both shardings, with one dimension sharding for each dimension of the value"),
                    );
                }
            }
            continue;
        }
        let inside = match module.ops[op].kind {
            OpKind::While => runs.saturating_mul(trips(module, op)),
            _ => runs,
        };
        for inner in module.ops[op].regions.clone() {
            lower_region(rw, inner, inside, planners, found);
        }
    }
}

fn emit(rw: &mut Rewriter<'_>, operand: ValueId, steps: Vec<ReshardStep>) -> ValueId {
    let mut value = operand;
    for step in steps {
        let ty = rw.module.values[value].ty;
        let mesh = step.out.mesh;
        let sharding = rw.module.shardings.intern(step.out);
        let collective = MeshCollective { mesh, kind: step.kind, out: sharding };
        value = rw.op1(OpKind::MeshCollective(Box::new(collective)), &[value], ty);
        rw.module.shardings.set(value, Some(sharding));
    }
    value
}

/// Returns a warning if a value that is sharded before and after is replicated in between because a dimension does not divide evenly. If
/// all dimensions divide evenly, a path without replication exists, and a path with replication is chosen only because it is cheaper.
fn whole_between(
    module: &Module,
    op: OpId,
    from: &TensorSharding,
    to: &TensorSharding,
    steps: &[ReshardStep],
) -> Option<Diagnostic> {
    let between = steps.split_last().map_or(&[][..], |(_, between)| between);
    if from.is_unsplit() || to.is_unsplit() || !between.iter().any(|step| step.out.is_unsplit()) {
        return None;
    }
    let ty = module.stored(module.ops[op].operands[0])?;
    let mesh = &module.meshes[to.mesh];
    let uneven = |sharding: &TensorSharding| {
        let shards = |dim: usize| sharding.shards(&module.meshes[sharding.mesh], dim);
        ty.shape.iter().enumerate().any(|(dim, &size)| size % shards(dim) != 0)
    };
    if !uneven(from) && !uneven(to) {
        return None;
    }
    let bytes = ty.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let message = format!(
        "a value of type {ty} ({}) is fully replicated to change its sharding from {} to {}",
        bytes_text(bytes),
        from.display(&module.meshes[from.mesh]),
        to.display(mesh)
    );
    let mut warning = Diagnostic::warning(Class::Unsupported, "SH0318", message)
        .at(module.ops[op].span)
        .bytes(bytes)
        .hint("the blocks of the two shardings are not aligned; use sizes that the axes divide evenly, or the same sharding for both");
    warning.user_loc = module.user_loc(op);
    Some(warning)
}
