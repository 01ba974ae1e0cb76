//! Rules of collectives: the values of each device have their own tangents.

use shardc_ir::reducer::{reducer, reduction_of};
use shardc_ir::{
    Build, Channel, CollectiveSpec, CompareDirection, DType, Diagnostic, OpKind, ReductionKind, SizeList,
    SliceSpec, TensorBuild, ValueId,
};

use super::{on_tape, unsupported};
use crate::emit::Arithmetic;
use crate::linearize::{At, Linear, Tangents};

/// Returns the attributes of a new collective with the same groups, on an unused channel.
pub(crate) fn like(linear: &mut Linear<'_>, spec: &CollectiveSpec) -> Box<CollectiveSpec> {
    let channel = spec.channel.filter(|channel| channel.handle > 0);
    Box::new(CollectiveSpec { channel: channel.map(|channel| another(linear, channel)), ..spec.clone() })
}

fn another(linear: &mut Linear<'_>, like: Channel) -> Channel {
    let last = linear.last_channel.unwrap_or_else(|| {
        let collectives = linear.module.ops.values().filter_map(|op| op.kind.collective());
        collectives.filter_map(|spec| spec.channel).map(|channel| channel.handle).max().unwrap_or(0)
    });
    linear.last_channel = Some(last + 1);
    Channel { handle: last + 1, ..like }
}

/// Linearizes linear collectives: emits the same collective on tangents.
pub(super) fn linear(at: &mut At<'_, '_>) -> Result<Tangents, Box<Diagnostic>> {
    let (results, spec) = {
        let data = &at.linear.module.ops[at.op];
        (data.results.clone(), data.kind.collective().cloned())
    };
    let Some(spec) = spec else { return Err(unsupported(at)) };
    let mut tangents = Tangents::new();
    for (i, &result) in results.iter().enumerate() {
        let Some(tangent) = at.tangent(i).filter(|_| at.can_change(result)) else {
            tangents.push(None);
            continue;
        };
        let dtype = at.linear.module.tensor(tangent).map(|ty| ty.dtype);
        let Some(dtype) = dtype else { return Err(unsupported(at)) };
        let regions = match at.linear.module.ops[at.op].regions.is_empty() {
            true => Vec::new(),
            false => vec![reducer(at.linear.module, ReductionKind::Add, dtype)],
        };
        let mut kind = at.kind();
        if let Some(own) = kind.collective_mut() {
            *own = *like(at.linear, &spec);
        }
        let ty = at.linear.module.values[result].ty;
        let op = at.tape().op(kind, &[tangent], &[ty], &regions);
        tangents.push(Some(at.linear.module.ops[op].results[0]));
    }
    Ok(tangents)
}

/// Linearizes `all_reduce` by addition, maximum or minimum. For maximum and minimum, the devices with the extreme value contribute equal
/// shares.
pub(super) fn all_reduce(at: &mut At<'_, '_>, spec: &CollectiveSpec) -> Result<Tangents, Box<Diagnostic>> {
    let (region, n) = {
        let data = &at.linear.module.ops[at.op];
        (data.regions[0], data.results.len())
    };
    match reduction_of(at.linear.module, region, 1) {
        Some(ReductionKind::Add) => linear(at),
        Some(ReductionKind::Max | ReductionKind::Min) => (0..n).map(|i| extreme(at, spec, i)).collect(),
        _ => Err(unsupported(at)),
    }
}

fn extreme(at: &mut At<'_, '_>, spec: &CollectiveSpec, i: usize) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let Some(tangent) = at.tangent(i) else { return Ok(None) };
    let (x, y) = (at.operand(i), at.linear.module.ops[at.op].results[i]);
    let ty = at.linear.module.values[y].ty;
    let Some(dtype) = at.linear.module.tensor(y).map(|ty| ty.dtype) else { return Err(unsupported(at)) };
    let shape = at.linear.module.shape(y).to_vec();
    let add = |at: &mut At<'_, '_>, value: ValueId, on_tape: bool| {
        let kind = OpKind::AllReduce(like(at.linear, spec));
        let region = reducer(at.linear.module, ReductionKind::Add, dtype);
        let op = match on_tape {
            true => at.tape().op(kind, &[value], &[ty], &[region]),
            false => at.primal().op(kind, &[value], &[ty], &[region]),
        };
        at.linear.module.ops[op].results[0]
    };
    let mask = {
        let mut e = at.primal();
        let is_it = e.tensor(OpKind::Compare(CompareDirection::EQ, None), &[x, y], &shape, DType::I1);
        e.convert(is_it, dtype)
    };
    let count = add(at, mask, false);
    let share = at.primal().div(mask, count);
    let chosen = at.tape().mul(tangent, share);
    Ok(Some(add(at, chosen, true)))
}

/// Linearizes `collective_broadcast`: gathers all tangents and takes the first.
pub(super) fn broadcast(at: &mut At<'_, '_>, spec: &CollectiveSpec) -> Result<Tangents, Box<Diagnostic>> {
    let Some(size) = spec.groups.group_size().filter(|_| !spec.has_dynamic_root) else {
        return Err(unsupported(at));
    };
    let size = size as i64;
    let n = at.linear.module.ops[at.op].results.len();
    let mut tangents = Tangents::new();
    for i in 0..n {
        let Some(tangent) = at.tangent(i) else {
            tangents.push(None);
            continue;
        };
        let gather = OpKind::AllGather { dim: 0, spec: like(at.linear, spec) };
        let mut tape = at.tape();
        let ty = tape.type_of(tangent);
        let with = |first: i64| std::iter::once(first).chain(ty.shape.iter().copied()).collect::<Vec<_>>();
        let row = tape.tensor(OpKind::Reshape, &[tangent], &with(1), ty.dtype);
        let all = tape.tensor(gather, &[row], &with(size), ty.dtype);
        let first = SliceSpec {
            start: SizeList::from_elem(0, ty.shape.len() + 1),
            limit: with(1).into_iter().collect(),
            stride: SizeList::from_elem(1, ty.shape.len() + 1),
        };
        let first = tape.tensor(OpKind::Slice(Box::new(first)), &[all], &with(1), ty.dtype);
        tangents.push(Some(tape.tensor(OpKind::Reshape, &[first], &ty.shape, ty.dtype)));
    }
    Ok(tangents)
}

/// Linearizes the custom call `cross-replica-sum`, which has no region.
pub(super) fn sum(at: &mut At<'_, '_>) -> Option<ValueId> {
    let tangent = at.tangent(0)?;
    Some(on_tape(at, &[tangent]))
}
