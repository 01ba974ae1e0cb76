//! Operations that others can say: nothing has to know how a scan or a pair of asynchronous operations is sharded.
//!
//! A `chlo.scan` becomes the loop that it stands for (see `scan`), and `async_start` with its `async_done` the
//! operation between them: when it is done is for the back end to choose. Batch normalization becomes sums for each
//! feature (`batch_norm`), operations that StableHLO keeps only for old programs become newer ones (`old`, `einsum`), and
//! those that take a shape as an operand what they are once the shape is known (`dynamic`). What is taken out of a tuple is
//! what was put into it. A collective between shardings (`sdy.all_gather`, `sdy.all_reduce`, ...) becomes a reshard: on the
//! whole value it does nothing but say the sharding of its result, where that of its operand tells what is to be done, sums
//! that are pending among it.

mod batch_norm;
mod deprecated;
mod dynamic;
mod einsum;
pub(crate) mod replacement;
mod scan;

use rustc_hash::FxHashMap;
use shardc_ir::{BatchNormKind, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ValueId};
use smallvec::SmallVec;

use crate::transforms::forward::Forward;
use crate::transforms::inline::{ValueMap, clone_op};

/// Rewrites everything under the function body `body`, a region before the operations that follow it. A scan over
/// quantized elements or of unknown length, a future that is used by more than one `async_done`, and what depends on sizes
/// that are known only at run time, stay.
pub fn expand(module: &mut Module, body: RegionId) {
    if !is_needed(module, body) {
        return;
    }
    let mut readers: SecondaryMap<ValueId, (u32, PackedOption<OpId>)> = SecondaryMap::new();
    for op in module.walk(body) {
        for &value in &module.ops[op].operands {
            readers[value] = (readers[value].0 + 1, op.into());
        }
    }
    Expand { readers, forward: Forward::default(), started: FxHashMap::default() }.region(module, body);
}

/// Whether there is anything to rewrite under a function body.
#[must_use]
pub fn is_needed(module: &Module, body: RegionId) -> bool {
    module.walk(body).iter().any(|&op| is_rewritten(&module.ops[op].kind))
}

/// Whether an operation of this kind stands for others, as a rule.
fn is_rewritten(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Scan(_) | OpKind::AsyncStart | OpKind::MeshCollective(_) | OpKind::GetTupleElement { .. }
    ) || has_other_form(kind)
}

/// Whether an operation of this kind stands for others whatever is around it, if its types are known.
fn has_other_form(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::BatchNorm(BatchNormKind::Training | BatchNormKind::Grad, _)
            | OpKind::Broadcast { .. }
            | OpKind::Einsum { .. }
            | OpKind::UnaryEinsum { .. }
            | OpKind::TorchIndexSelect { .. }
            | OpKind::Dynamic(_)
            | OpKind::GetDimensionSize { .. }
    )
}

struct Expand {
    /// How often each value is read, and what reads it last.
    readers: SecondaryMap<ValueId, (u32, PackedOption<OpId>)>,
    forward: Forward,
    /// The results of what was started, by the future that stands for them.
    started: FxHashMap<ValueId, SmallVec<[ValueId; 3]>>,
}

impl Expand {
    fn region(&mut self, module: &mut Module, region: RegionId) {
        let ops = std::mem::take(&mut module.regions[region].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            self.forward.rewrite(&mut module.ops[op].operands);
            for nested in module.ops[op].regions.clone() {
                self.region(module, nested);
            }
            if !self.op(module, op, &mut out) {
                out.push(op);
            }
        }
        module.regions[region].ops = out;
    }

    /// Appends what an operation stands for; false if the operation itself, perhaps of another kind now, is to stay.
    fn op(&mut self, module: &mut Module, op: OpId, out: &mut Vec<OpId>) -> bool {
        let results = module.ops[op].results.clone();
        match &module.ops[op].kind {
            OpKind::Scan(spec) => {
                let spec = (**spec).clone();
                let Some(values) = scan::as_loop(module, op, &spec, out) else { return false };
                self.stand_for(&results, &values);
            }
            OpKind::AsyncStart => {
                let (&[future], &[body]) = (results.as_slice(), module.ops[op].regions.as_slice()) else {
                    return false;
                };
                if !self.is_only_waited_for(module, future) {
                    return false;
                }
                let operands = module.ops[op].operands.clone();
                self.started.insert(future, splice(module, body, &operands, out));
            }
            OpKind::AsyncDone => {
                let future = module.ops[op].operands.first();
                let Some(values) = future.and_then(|future| self.started.remove(future)) else {
                    return false;
                };
                self.stand_for(&results, &values);
            }
            OpKind::MeshCollective(collective) => {
                module.ops[op].kind = OpKind::Reshard(collective.out);
                return false;
            }
            OpKind::GetTupleElement { index } => {
                let Some(value) = put_into_tuple(module, op, *index) else { return false };
                if let Some(sharding) = results.first().and_then(|&result| module.shardings.of(result)) {
                    let data = &mut module.ops[op];
                    (data.kind, data.operands) =
                        (OpKind::ShardingConstraint(sharding), [value].into_iter().collect());
                    return false;
                }
                self.stand_for(&results, &[value]);
            }
            kind if has_other_form(kind) => {
                let Some(values) = other_form(module, op, out) else { return false };
                for (&old, &new) in results.iter().zip(&values) {
                    let sharding = module.shardings.of(old);
                    module.shardings.set(new, sharding);
                }
                self.stand_for(&results, &values);
            }
            _ => return false,
        }
        true
    }

    fn stand_for(&mut self, old: &[ValueId], new: &[ValueId]) {
        old.iter().zip(new).for_each(|(&old, &new)| self.forward.set(old, new));
    }

    /// Whether the one use of a future is an `async_done`.
    fn is_only_waited_for(&self, module: &Module, future: ValueId) -> bool {
        let (count, reader) = self.readers[future];
        let waits = |op: OpId| matches!(module.ops[op].kind, OpKind::AsyncDone);
        count == 1 && reader.expand().is_some_and(waits)
    }
}

/// What was put into place `index` of the tuple that `op` takes it out of, where that is known.
fn put_into_tuple(module: &Module, op: OpId, index: u32) -> Option<ValueId> {
    let data = &module.ops[op];
    let tuple = &module.ops[module.def_op(*data.operands.first()?)?];
    matches!(tuple.kind, OpKind::Tuple).then(|| tuple.operands.get(index as usize).copied())?
}

/// Appends what an operation by itself stands for; returns new values, one for each of its results. `None` if it stays.
fn other_form(module: &mut Module, op: OpId, out: &mut Vec<OpId>) -> Option<Vec<ValueId>> {
    let value = match module.ops[op].kind.clone() {
        OpKind::BatchNorm(kind, spec) => return batch_norm::expand(module, op, kind, spec, out),
        OpKind::Broadcast { sizes } => deprecated::broadcast(module, op, &sizes, out),
        OpKind::Einsum { config } | OpKind::UnaryEinsum { config } => {
            einsum::expand(module, op, &config, out)
        }
        OpKind::TorchIndexSelect { dim, batch_dims } => {
            deprecated::index_select(module, op, dim, batch_dims, out)
        }
        OpKind::Dynamic(kind) => dynamic::expand(module, op, &kind, out),
        OpKind::GetDimensionSize { dim } => dynamic::dimension_size(module, op, dim, out),
        _ => None,
    };
    Some(vec![value?])
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
