//! Operations that others can say: nothing has to know how a scan or a pair of asynchronous operations is sharded.
//!
//! A `chlo.scan` becomes the loop that it stands for (see `scan`), and `async_start` with its `async_done` the
//! operation between them: when it is done is for the back end to choose. A collective between shardings
//! (`sdy.all_gather`, `sdy.all_reduce`, ...) becomes a reshard: on the whole value it does nothing but say the sharding of
//! its result, where that of its operand tells what is to be done, sums that are pending among it.

mod scan;

use shardc_ir::{Module, OpId, OpKind, RegionId, ValueId};
use smallvec::SmallVec;

use crate::forward::Forward;
use crate::inline::{ValueMap, clone_op};

/// Rewrites everything under the function body `body`, a region before the operations that follow it. A scan over
/// quantized elements or of unknown length, and a future that is used by more than one `async_done`, stay.
pub fn expand(module: &mut Module, body: RegionId) {
    if is_needed(module, body) {
        expand_region(module, body, &mut Forward::default());
    }
}

/// Whether there is anything to rewrite under a function body.
#[must_use]
pub fn is_needed(module: &Module, body: RegionId) -> bool {
    let is_rare = |&op: &OpId| {
        matches!(module.ops[op].kind, OpKind::Scan(_) | OpKind::AsyncStart | OpKind::MeshCollective(_))
    };
    module.walk(body).iter().any(is_rare)
}

fn expand_region(module: &mut Module, region: RegionId, forward: &mut Forward) {
    let ops = std::mem::take(&mut module.regions[region].ops);
    let mut out = Vec::with_capacity(ops.len());
    // The results of what was started, by the future that stands for them.
    let mut started: Vec<(ValueId, SmallVec<[ValueId; 3]>)> = Vec::new();
    for (i, &op) in ops.iter().enumerate() {
        forward.rewrite(&mut module.ops[op].operands);
        for nested in module.ops[op].regions.clone() {
            expand_region(module, nested, forward);
        }
        match &module.ops[op].kind {
            OpKind::Scan(spec) => {
                let spec = (**spec).clone();
                let results = module.ops[op].results.clone();
                match scan::as_loop(module, op, &spec, &mut out) {
                    Some(values) => {
                        results.iter().zip(values).for_each(|(&old, new)| forward.set(old, new));
                    }
                    None => out.push(op),
                }
            }
            OpKind::MeshCollective(collective) => {
                let to = collective.out;
                module.ops[op].kind = OpKind::Reshard(to);
                out.push(op);
            }
            OpKind::AsyncStart if is_done_here(module, op, &ops[i + 1..]) => {
                let future = module.ops[op].results[0];
                let (body, operands) = (module.ops[op].regions[0], module.ops[op].operands.clone());
                started.push((future, splice(module, body, &operands, &mut out)));
            }
            OpKind::AsyncDone => {
                let future = module.ops[op].operands.first();
                match started.iter().find(|(started, _)| Some(started) == future) {
                    Some((_, values)) => {
                        let results = module.ops[op].results.clone();
                        results.iter().zip(values).for_each(|(&old, &new)| forward.set(old, new));
                    }
                    None => out.push(op),
                }
            }
            _ => out.push(op),
        }
    }
    module.regions[region].ops = out;
}

/// Whether the one future that `start` makes has one use, an `async_done` among the operations that follow it.
fn is_done_here(module: &Module, start: OpId, following: &[OpId]) -> bool {
    let &[future] = module.ops[start].results.as_slice() else { return false };
    let uses = |op: OpId| module.ops[op].operands.iter().filter(|&&v| v == future).count();
    let inner = |op: OpId| module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    let all: usize = following.iter().map(|&op| uses(op) + inner(op).map(uses).sum::<usize>()).sum();
    let mut done = following.iter().filter(|&&op| matches!(module.ops[op].kind, OpKind::AsyncDone));
    all == 1 && done.any(|&op| uses(op) == 1)
}

/// Copies what is in `body` to the end of `out`, with `values` for its arguments. Returns what it returns.
fn splice(
    module: &mut Module,
    body: RegionId,
    values: &[ValueId],
    out: &mut Vec<OpId>,
) -> SmallVec<[ValueId; 3]> {
    let mut map = ValueMap::new();
    for (&arg, &value) in module.regions[body].args.clone().iter().zip(values) {
        map.insert(arg, value);
    }
    let mut returned = SmallVec::new();
    for op in module.regions[body].ops.clone() {
        if matches!(module.ops[op].kind, OpKind::Return) {
            returned = module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
        } else {
            out.push(clone_op(module, op, &mut map));
        }
    }
    returned
}
