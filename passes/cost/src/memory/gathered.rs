//! Memory of results that are all-gathered, such as the updated parameters of ZeRO-1.
//!
//! In an all-gather, TPU devices write into each other's memory, but the result buffers that callers pass have different addresses on
//! different devices. The TPU compiler therefore all-gathers into the heap, where all devices use the same address, and copies the value to
//! the result. If the result is aliased to an argument, the compiler first copies the argument as well, unless the layouts of all-gather
//! and result differ. They differ for shards that are not whole tiles, and for values that matmuls read in a different layout.

use rustc_hash::FxHashSet;
use shardc_analysis::analysis::tiles::{LANES, SUBLANES};
use shardc_ir::{AttrDict, FuncId, Module, OpId, OpKind, ValueId};

use super::stacks::read_across;

/// The results and arguments of a function that need additional memory in the heap.
#[derive(Default)]
pub(super) struct Gathered {
    /// Values that are all-gathered, and then copied to a result.
    pub(super) results: FxHashSet<ValueId>,
    /// Arguments that are copied first, because they are aliased to a result that is all-gathered in the same layout.
    pub(super) arguments: FxHashSet<ValueId>,
}

impl Gathered {
    pub(super) fn of(module: &Module, func: FuncId) -> Gathered {
        let data = &module.funcs[func];
        let mut gathered = Gathered::default();
        let Some(body) = data.body.map(|body| &module.regions[body]) else { return gathered };
        let returned = body.ops.last().map_or(&[][..], |&last| &module.ops[last].operands);
        let gather_of = |value: ValueId| {
            module.def_op(value).filter(|&def| matches!(module.ops[def].kind, OpKind::AllGather { .. }))
        };
        gathered.results.extend(returned.iter().filter(|&&value| gather_of(value).is_some()));
        let relaid: FxHashSet<ValueId> = body.ops.iter().flat_map(|&op| read_across(module, op)).collect();
        for (&arg, attrs) in body.args.iter().zip(&data.arg_attrs) {
            let gather = AttrDict::donated_to(attrs).and_then(|at| gather_of(*returned.get(at)?));
            if gather.is_some_and(|gather| has_whole_tiles(module, gather)) && !relaid.contains(&arg) {
                gathered.arguments.insert(arg);
            }
        }
        gathered
    }
}

/// Whether the shards of an all-gather consist of whole tiles along the gathered dimension.
fn has_whole_tiles(module: &Module, gather: OpId) -> bool {
    let data = &module.ops[gather];
    let (OpKind::AllGather { dim, .. }, Some(&part)) = (&data.kind, data.operands.first()) else {
        return false;
    };
    let shape = module.shape(part);
    let of_tile = match shape.len() - *dim as usize {
        1 => LANES,
        2 => SUBLANES,
        _ => 1,
    };
    shape[*dim as usize] % of_tile as i64 == 0
}
