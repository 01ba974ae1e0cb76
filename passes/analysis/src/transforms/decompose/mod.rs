//! Decomposition: expands operations into simpler ones, so that they need no sharding rule.
//!
//! * `chlo.scan` becomes a `while` (`scan`).
//! * `async_start` and `async_done` become the operation between them; the back end schedules it. Asynchronous collective calls become
//!   collectives (`async_calls`), and collectives with a root become all-reduces (`rooted_collectives`).
//! * Batch normalization in training becomes sums for each feature (`batch_norm`).
//! * Deprecated operations become their successors (`deprecated`, `einsum`).
//! * Operations with a shape operand become static if the shape is known (`dynamic`).
//! * `get_tuple_element` of a `tuple` becomes the element.
//! * The custom calls `mhlo.topk` and `TopK` become `chlo.top_k` (`top_k`).
//! * A collective between shardings (`sdy.all_gather`, `sdy.all_reduce`, ...) becomes a reshard to its result's sharding. The collective is
//!   the identity on global values; the shardings of operand and result define the communication, also for unreduced values.

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

/// Decomposes the operations that the module documentation lists, everywhere under the function body `body`; regions are visited before
/// later operations. Exceptions are a scan over quantized elements or of unknown length, a future with users other than one `async_done`,
/// and operations with sizes that are known only at run time.
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

/// Whether a function body has operations to decompose.
#[must_use]
pub fn is_needed(module: &Module, body: RegionId) -> bool {
    module.walk(body).iter().any(|&op| is_rewritten(&module.ops[op].kind))
}

/// Whether this pass decomposes operations of this kind, apart from the exceptions of [`decompose`].
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

/// Whether an operation of this kind is decomposed regardless of its context, if its types are known.
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
    /// The number of uses of each value, and its last user.
    readers: SecondaryMap<ValueId, (u32, PackedOption<OpId>)>,
    /// For each future, the results of the operation that was started: the values that `async_done` returns.
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

    /// Inserts the decomposition of an operation and returns the values that replace its results. `None` if the operation is not replaced,
    /// although its kind may change.
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
            // A copy with an annotated sharding becomes a sharding constraint. If it were replaced by its operand, its sharding would be
            // lost or would overwrite that of the operand.
            OpKind::Unary(UnaryOp::Copy) if module.shardings.of(results[0]).is_some() => {
                let sharding = module.shardings.of(results[0])?;
                module.ops[op].kind = OpKind::ShardingConstraint(sharding);
                None
            }
            kind if has_other_form(kind) => {
                // A copy is replaced by its operand, which keeps its own sharding. New values get the shardings of the results that they
                // replace.
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

    /// Whether an `async_done` is the only user of a future.
    fn is_only_waited_for(&self, module: &Module, future: ValueId) -> bool {
        let (count, reader) = self.readers[future];
        let waits = |op: OpId| matches!(module.ops[op].kind, OpKind::AsyncDone);
        count == 1 && reader.expand().is_some_and(waits)
    }
}

/// If a `tuple` operation produces the operand of `op`, returns operand `index` of that operation.
fn put_into_tuple(module: &Module, op: OpId, index: u32) -> Option<ValueId> {
    let data = &module.ops[op];
    let tuple = &module.ops[module.def_op(*data.operands.first()?)?];
    matches!(tuple.kind, OpKind::Tuple).then(|| tuple.operands.get(index as usize).copied())?
}

/// Inserts the expansion of an operation that does not depend on other operations; returns new values for its results. `None` if the
/// operation is not expanded.
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

/// Inserts copies of the operations of `body`, with `values` for its arguments. Returns the copied return values.
fn copy_with(rw: &mut Rewriter<'_>, body: RegionId, values: &[ValueId]) -> SmallVec<[ValueId; 3]> {
    let mut map = ValueMap::new();
    for (&arg, &value) in rw.module.regions[body].args.iter().zip(values) {
        map.insert(arg, value);
    }
    rw.splice_copy(body, &mut map)
}
