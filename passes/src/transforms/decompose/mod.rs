//! Operations that others can say: nothing has to know how a scan or a pair of asynchronous operations is sharded.
//!
//! A `chlo.scan` becomes the loop that it stands for (see `scan`), and `async_start` with its `async_done` the
//! operation between them: when it is done is for the back end to choose. Batch normalization becomes sums for each
//! feature (`batch_norm`), operations that StableHLO keeps only for old programs become newer ones (`old`, `einsum`), and
//! those that take a shape as an operand what they are once the shape is known (`dynamic`). What is taken out of a tuple is
//! what was put into it. Custom calls that take the largest elements of rows (`mhlo.topk`, `TopK`) become `chlo.top_k` (`top_k`). A collective between shardings (`sdy.all_gather`, `sdy.all_reduce`, ...) becomes a reshard: on the
//! whole value it does nothing but say the sharding of its result, where that of its operand tells what is to be done, sums
//! that are pending among it.

mod async_calls;
mod batch_norm;
mod deprecated;
mod dynamic;
mod einsum;
mod scan;
mod top_k;

use rustc_hash::FxHashMap;
use shardc_ir::{
    BatchNormKind, Module, OpId, OpKind, PackedOption, RegionId, Rewriter, SecondaryMap, UnaryOp, ValueId,
    ValueMap,
};
use smallvec::{SmallVec, smallvec};

pub(super) use self::dynamic::decompose as static_form;
use super::{expand_elementwise, rooted_collectives};

/// Rewrites everything under the function body `body`, a region before the operations that follow it. A scan over
/// quantized elements or of unknown length, a future that is used by more than one `async_done`, and what depends on sizes
/// that are known only at run time, stay.
pub fn decompose(module: &mut Module, body: RegionId) {
    if !is_needed(module, body) {
        return;
    }
    let mut readers: SecondaryMap<ValueId, (u32, PackedOption<OpId>)> = SecondaryMap::new();
    for op in module.walk(body) {
        for &value in &module.ops[op].operands {
            readers[value] = (readers[value].0 + 1, op.into());
        }
    }
    Expand { readers, started: FxHashMap::default() }.region(&mut Rewriter::new(module), body);
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
    ) || is_rooted(kind)
        || has_other_form(kind)
}

/// Whether an operation is a collective with a root that `rooted_collectives` expands.
fn is_rooted(kind: &OpKind) -> bool {
    match kind {
        OpKind::CollectiveReduce(_) => true,
        OpKind::CollectiveBroadcast(spec) => spec.has_dynamic_root,
        _ => false,
    }
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
    ) || expand_elementwise::is_mhlo(kind)
        || async_calls::is_async(kind)
        || matches!(kind, OpKind::CustomCall(spec) if top_k::is_target(&spec.target))
}

struct Expand {
    /// How often each value is read, and what reads it last.
    readers: SecondaryMap<ValueId, (u32, PackedOption<OpId>)>,
    /// The results of what was started, by the future that stands for them.
    started: FxHashMap<ValueId, SmallVec<[ValueId; 3]>>,
}

impl Expand {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            for nested in rw.module.ops[op].regions.clone() {
                self.region(rw, nested);
            }
            let start = rw.checkpoint();
            match self.op(rw, op) {
                Some(values) => rw.replace(&values),
                None => rw.undo(start),
            }
        }
    }

    /// Inserts what an operation stands for, and returns what stands for its results; `None` if the operation itself,
    /// perhaps of another kind now, is to stay.
    fn op(&mut self, rw: &mut Rewriter<'_>, op: OpId) -> Option<SmallVec<[ValueId; 3]>> {
        let module = &mut *rw.module;
        let results = module.ops[op].results.clone();
        match &module.ops[op].kind {
            OpKind::Scan(spec) => {
                let spec = (**spec).clone();
                scan::as_loop(rw, op, &spec)
            }
            OpKind::AsyncStart => {
                let (&[future], &[body]) = (results.as_slice(), module.ops[op].regions.as_slice()) else {
                    return None;
                };
                if !self.is_only_waited_for(module, future) {
                    return None;
                }
                let operands = module.ops[op].operands.clone();
                self.started.insert(future, copy_with(rw, body, &operands));
                Some(SmallVec::new())
            }
            OpKind::CollectiveBroadcast(spec) if spec.has_dynamic_root => {
                let spec = spec.clone();
                let devices = module.num_partitions().unwrap_or(1);
                rooted_collectives::broadcast(rw, op, &spec, devices)
            }
            OpKind::CollectiveReduce(spec) => {
                let spec = spec.clone();
                rooted_collectives::reduce(rw, op, &spec)
            }
            OpKind::AsyncDone => self.started.remove(module.ops[op].operands.first()?),
            OpKind::MeshCollective(collective) => {
                module.ops[op].kind = OpKind::Reshard(collective.out);
                None
            }
            OpKind::GetTupleElement { index } => {
                let value = put_into_tuple(module, op, *index)?;
                if let Some(sharding) = results.first().and_then(|&result| module.shardings.of(result)) {
                    let data = &mut module.ops[op];
                    (data.kind, data.operands) =
                        (OpKind::ShardingConstraint(sharding), [value].into_iter().collect());
                    return None;
                }
                Some(smallvec![value])
            }
            // The sharding of a copy must not become that of its operand.
            OpKind::Unary(UnaryOp::Copy) if module.shardings.of(results[0]).is_some() => {
                let sharding = module.shardings.of(results[0])?;
                module.ops[op].kind = OpKind::ShardingConstraint(sharding);
                None
            }
            kind if has_other_form(kind) => {
                // Their value is an operand, which has a sharding of its own.
                let is_copy = matches!(kind, OpKind::Unary(UnaryOp::Copy)) || async_calls::is_async(kind);
                let values = other_form(rw, op)?;
                if is_copy {
                    return Some(values);
                }
                for (&old, &new) in results.iter().zip(&values) {
                    let sharding = rw.module.shardings.of(old);
                    rw.module.shardings.set(new, sharding);
                }
                Some(values)
            }
            _ => None,
        }
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

/// Inserts what an operation by itself stands for; returns new values, one for each of its results. `None` if it stays.
fn other_form(rw: &mut Rewriter<'_>, op: OpId) -> Option<SmallVec<[ValueId; 3]>> {
    let value = match rw.module.ops[op].kind.clone() {
        OpKind::CustomCall(spec) if top_k::is_target(&spec.target) => return top_k::decompose(rw, op),
        OpKind::CustomCall(_) => async_calls::collective(rw, op),
        OpKind::BatchNorm(kind, spec) => return batch_norm::decompose(rw, op, kind, spec),
        OpKind::Broadcast { sizes } => deprecated::broadcast(rw, op, &sizes),
        OpKind::Einsum { config } | OpKind::UnaryEinsum { config } => einsum::decompose(rw, op, &config),
        OpKind::TorchIndexSelect { dim, batch_dims } => deprecated::index_select(rw, op, dim, batch_dims),
        OpKind::Dynamic(kind) => dynamic::decompose(rw, op, &kind),
        OpKind::GetDimensionSize { dim } => dynamic::dimension_size(rw, op, dim),
        _ => expand_elementwise::expand_mhlo(rw, op),
    };
    Some(smallvec![value?])
}

/// Inserts copies of what is in `body`, with `values` for its arguments. Returns what it returns.
fn copy_with(rw: &mut Rewriter<'_>, body: RegionId, values: &[ValueId]) -> SmallVec<[ValueId; 3]> {
    let mut map = ValueMap::new();
    for (&arg, &value) in rw.module.regions[body].args.iter().zip(values) {
        map.insert(arg, value);
    }
    rw.splice_copy(body, &mut map)
}
