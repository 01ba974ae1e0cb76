//! Block checkpointing of loops: a loop of `n` iterations becomes a loop over about `sqrt(n)` blocks of about `sqrt(n)` iterations. The
//! carried state is saved between blocks, and residuals are kept for only one block at a time ("Training Deep Nets with Sublinear Memory
//! Cost", Chen et al., 2016).

use rustc_hash::FxHashSet;
use shardc_ir::trip_count::known_trips;
use shardc_ir::{
    Build, CompareDirection, CompareType, DType, Module, OpId, OpKind, RegionId, Rewriter, TensorBuild,
    TypeId, ValueId, ValueMap, clone_region,
};

use crate::emit::{Arithmetic, Emit};

/// The minimum trip count of a loop that is split.
const LEAST_TRIPS: i64 = 4;

/// Splits the loops with known trip counts in a region and in its nested regions. Returns the loops over blocks, which save only the
/// initial state of each block. If the block size does not divide the trip count, the remaining iterations run in a separate loop.
pub(crate) fn split_loops(module: &mut Module, region: RegionId) -> FxHashSet<OpId> {
    let mut blocks = FxHashSet::default();
    split_region(&mut Rewriter::new(module), region, &mut blocks);
    blocks
}

fn split_region(rw: &mut Rewriter<'_>, region: RegionId, blocks: &mut FxHashSet<OpId>) {
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        let trips = known_trips(rw.module, op).and_then(|trips| i64::try_from(trips).ok());
        if let Some(trips) = trips.filter(|&trips| trips >= LEAST_TRIPS && i32::try_from(trips).is_ok()) {
            let results = split(rw, op, trips, blocks);
            rw.replace(&results);
            continue;
        }
        for inner in rw.module.ops[op].regions.clone() {
            split_region(rw, inner, blocks);
        }
    }
}

/// Inserts a loop over blocks, and a loop over the remaining iterations if there are any, in place of the loop `op`. Returns the values
/// that replace the results of `op`.
fn split(rw: &mut Rewriter<'_>, op: OpId, trips: i64, blocks: &mut FxHashSet<OpId>) -> Vec<ValueId> {
    let each = block_of(trips);
    let (inits, body) = (rw.module.ops[op].operands.to_vec(), rw.module.ops[op].regions[1]);
    let types: Vec<TypeId> = inits.iter().map(|&v| rw.module.values[v].ty).collect();

    // The body of the loop over blocks: it runs one block.
    let region = counted_region(rw.module, &types);
    let args = rw.module.regions[region].args.clone();
    let Some((&count, carried)) = args.split_last() else { return inits };
    let mut ops = Vec::new();
    let inner = trips_of(rw.module, op, each, carried, &mut ops);
    let made = rw.module.ops[inner].results[..carried.len()].to_vec();
    let mut returned = Vec::new();
    for (i, (&arg, made)) in carried.iter().zip(made).enumerate() {
        returned.push(if stays(rw.module, body, i) { arg } else { made });
    }
    returned.push(next(rw.module, &mut ops, op, count));
    Emit::new(rw.module, &mut ops, op).ret(&returned);
    rw.module.set_ops(region, ops);

    let mut ops = Vec::new();
    let outer = counted_loop(rw.module, op, trips / each, &inits, region, &mut ops);
    blocks.insert(outer);
    let mut results = rw.module.ops[outer].results[..inits.len()].to_vec();
    let mut inners = vec![inner];
    if trips % each > 0 {
        let rest = trips_of(rw.module, op, trips % each, &results, &mut ops);
        results = rw.module.ops[rest].results[..inits.len()].to_vec();
        inners.push(rest);
    }
    for made in ops {
        rw.insert(made);
    }
    for inner in inners {
        split_region(rw, rw.module.ops[inner].regions[1], blocks);
    }
    results
}

/// Builds a loop that executes the given number of iterations of the loop `op`, starting from `inits`.
fn trips_of(module: &mut Module, op: OpId, trips: i64, inits: &[ValueId], ops: &mut Vec<OpId>) -> OpId {
    let body = module.ops[op].regions[1];
    let region = clone_region(module, body, &mut ValueMap::new());
    let ty = module.types.tensor(&[], DType::I32);
    let count = module.add_arg(region, ty);
    let mut inner = module.regions[region].ops.to_vec();
    let end = inner.pop();
    let more = next(module, &mut inner, op, count);
    if let Some(end) = end {
        module.ops[end].operands.push(more);
        inner.push(end);
    }
    module.set_ops(region, inner);
    counted_loop(module, op, trips, inits, region, ops)
}

/// Builds a loop whose last carried value counts iterations.
fn counted_loop(
    module: &mut Module,
    like: OpId,
    trips: i64,
    inits: &[ValueId],
    body: RegionId,
    ops: &mut Vec<OpId>,
) -> OpId {
    let types: Vec<TypeId> = inits.iter().map(|&v| module.values[v].ty).collect();
    let cond = counted_region(module, &types);
    let count = module.regions[cond].args.last().copied();
    let mut inner = Vec::new();
    let mut e = Emit::new(module, &mut inner, like);
    let bound = e.splat(&(trips as i32).to_le_bytes(), &[], DType::I32);
    let less = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
    let is_more = e.tensor(less, &[count.unwrap_or(bound), bound], &[], DType::I1);
    e.ret(&[is_more]);
    module.set_ops(cond, inner);

    let mut e = Emit::new(module, ops, like);
    let zero = e.splat(&0i32.to_le_bytes(), &[], DType::I32);
    let operands: Vec<ValueId> = inits.iter().copied().chain([zero]).collect();
    let types: Vec<TypeId> = operands.iter().map(|&v| e.module().values[v].ty).collect();
    e.op(OpKind::While, &operands, &types, &[cond, body])
}

/// Adds a region whose arguments have the types `types`, followed by an iteration counter.
fn counted_region(module: &mut Module, types: &[TypeId]) -> RegionId {
    let count = module.types.tensor(&[], DType::I32);
    module.add_region(&[types, &[count]].concat())
}

fn next(module: &mut Module, ops: &mut Vec<OpId>, like: OpId, count: ValueId) -> ValueId {
    let mut e = Emit::new(module, ops, like);
    let one = e.splat(&1i32.to_le_bytes(), &[], DType::I32);
    e.add(count, one)
}

/// Whether the body of a loop returns the carried value with index `place` unchanged.
fn stays(module: &Module, body: RegionId, place: usize) -> bool {
    let returned = module.terminator(body).and_then(|end| module.ops[end].operands.get(place));
    returned == module.regions[body].args.get(place)
}

/// Returns the number of iterations per block: about the square root of the trip count. A divisor of the trip count is preferred if there
/// is one nearby.
fn block_of(trips: i64) -> i64 {
    let root = (trips as f64).sqrt().ceil() as i64;
    let near = (root..=2 * root).chain((root / 2 + 1..root).rev());
    near.into_iter().find(|each| trips % each == 0).unwrap_or(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_near_the_root_and_divide_where_they_can() {
        assert_eq!([4, 12, 16, 100, 7, 97, 1000].map(block_of), [2, 4, 4, 10, 3, 10, 40]);
    }
}
