//! Copies of operations and regions.

use smallvec::SmallVec;

use super::ValueMap;
use crate::{Module, OpId, RegionId, ValueId};

/// Copies an operation with its regions; the copy is not in a region yet. Operands are replaced according to `map`, and `map` then maps the
/// results of the original to those of the copy. The copy has the span, location, attributes and shardings of the original.
pub fn clone_op(module: &mut Module, op: OpId, map: &mut ValueMap) -> OpId {
    let old = module.ops[op].clone();
    let operands: SmallVec<[ValueId; 3]> = old.operands.iter().map(|&v| map.get(v)).collect();
    let types: SmallVec<[_; 2]> = old.results.iter().map(|&v| module.values[v].ty).collect();
    let regions: SmallVec<[RegionId; 1]> =
        // Regions are copied before the results are added to `map`: a region cannot use the results of its own
        // operation.
        old.regions.iter().map(|&region| clone_region(module, region, map)).collect();
    let new = module.add_op(old.kind, &operands, &types, &regions);
    let data = &mut module.ops[new];
    (data.attrs, data.span, data.loc) = (old.attrs, old.span, old.loc);
    let results = data.results.clone();
    for (&from, &to) in old.results.iter().zip(&results) {
        copy_sharding(module, from, to);
        map.insert(from, to);
    }
    new
}

/// Copies a region: its arguments, operations and nested regions. Values from outside of the region are replaced according to `map`; `map`
/// then also maps the arguments and results in the region to their copies.
pub fn clone_region(module: &mut Module, region: RegionId, map: &mut ValueMap) -> RegionId {
    let args = module.regions[region].args.clone();
    let types: Vec<_> = args.iter().map(|&v| module.values[v].ty).collect();
    let copy = module.add_region(&types);
    for (i, &from) in args.iter().enumerate() {
        let to = module.regions[copy].args[i];
        copy_sharding(module, from, to);
        map.insert(from, to);
    }
    let ops = module.regions[region].ops.to_vec();
    let copies = ops.into_iter().map(|op| clone_op(module, op, map)).collect();
    module.set_ops(copy, copies);
    copy
}

fn copy_sharding(module: &mut Module, from: ValueId, to: ValueId) {
    if let Some(sharding) = module.shardings.of(from) {
        module.shardings.set(to, Some(sharding));
    }
}
