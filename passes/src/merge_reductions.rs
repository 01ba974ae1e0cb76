//! Adds pending sums before they are completed.
//!
//! The sum of two values that are each completed by the same reduction is completed once: where an addition
//! reads two reshards from the same pending sharding, and nothing else reads them, it adds the pending values
//! and the reshard comes after it. The gradient that flows into a layer through several products is such a
//! sum, so a transformer's backward pass needs one all-reduce where it would take three.

use shardc_ir::{
    BinaryOp, EntityRef, Module, OpId, OpKind, ReductionKind, RegionId, ShardingId, TensorSharding, Value,
    ValueDef, ValueId,
};

use crate::structure::program_regions;

/// Does so everywhere under `body` of a planned module. The reshards that are no longer needed stay, unused.
pub fn merge_reductions(module: &mut Module, body: RegionId) {
    let mut readers = vec![0u32; module.values.len()];
    for op in module.walk(body) {
        for v in &module.ops[op].operands {
            readers[v.index()] += 1;
        }
    }
    for region in program_regions(module, body) {
        let ops = std::mem::take(&mut module.regions[region].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            out.push(op);
            if let Some(reshard) = merge(module, op, &readers) {
                out.push(reshard);
            }
        }
        module.regions[region].ops = out;
    }
}

/// The reshard that completes the sum which `op` now makes, if it is such an addition.
fn merge(module: &mut Module, op: OpId, readers: &[u32]) -> Option<OpId> {
    let data = &module.ops[op];
    let (OpKind::Binary(BinaryOp::Add), &[a, b]) = (&data.kind, data.operands.as_slice()) else {
        return None;
    };
    let alone = |v: ValueId| readers.get(v.index()) == Some(&1);
    if a == b || !alone(a) || !alone(b) {
        return None;
    }
    let ((x, pending), (y, other)) = (pending_source(module, a)?, pending_source(module, b)?);
    let result = data.results[0];
    let wanted = module.shardings.of(result)?;
    let same = |s: ShardingId, t: ShardingId| module.shardings.get(s).same_placement(module.shardings.get(t));
    if !same(pending, other)
        || !same(module.shardings.of(a)?, wanted)
        || !same(module.shardings.of(b)?, wanted)
    {
        return None;
    }
    let ty = module.values[result].ty;
    let sum = module.values.push(Value { ty, def: ValueDef::Result(op, 0) });
    module.shardings.set(sum, Some(pending));
    module.ops[op].operands = [x, y].into_iter().collect();
    module.ops[op].results[0] = sum;
    let reshard = module.add_op(OpKind::Reshard(wanted), &[sum], &[], &[]);
    module.ops[reshard].results.push(result);
    module.ops[reshard].span = module.ops[op].span;
    module.ops[reshard].loc = module.ops[op].loc;
    module.values[result].def = ValueDef::Result(reshard, 0);
    Some(reshard)
}

/// The pending sum that `value` is the reshard of, and its sharding.
pub(crate) fn pending_source(module: &Module, value: ValueId) -> Option<(ValueId, ShardingId)> {
    let op = &module.ops[module.def_op(value)?];
    let source = *op.operands.first()?;
    let sharding = module.shardings.of(source)?;
    let TensorSharding { unreduced, reduction, .. } = module.shardings.get(sharding);
    // A sum of largest values is not the largest of the sums.
    let is_pending =
        matches!(op.kind, OpKind::Reshard(_)) && !unreduced.is_empty() && *reduction == ReductionKind::Add;
    is_pending.then_some((source, sharding))
}
