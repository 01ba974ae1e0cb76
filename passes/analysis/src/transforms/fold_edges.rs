//! Folds slices into the pads and concatenations whose edges they remove.
//!
//! A shift is often a pad (or concatenation) that lengthens a dimension, then a slice that restores its size. If the dimension is sharded,
//! the block boundaries of the longer value differ from those of its producer and user, so devices exchange elements twice. With a single
//! pad whose padding may be negative, devices exchange only the rows that cross a block boundary.
//!
//! Conditions:
//! * both operations are in the same region, and the longer value has no annotated sharding;
//! * all strides are 1, and the sliced dimensions have no interior padding.
//!
//! A pad that adds and removes nothing is erased; a pad that only removes edges becomes a slice. A slice of a reversed, negated or
//! converted sort result is moved to the sort, so that only candidates are exchanged (`plan/expand/two_stage_sort.rs`).
//!
//! ```mlir
//! %0 = stablehlo.pad %x, %z, low = [1], high = [0], interior = [0]
//! %1 = stablehlo.slice %0 [0:64]
//! // becomes
//! %1 = stablehlo.pad %x, %z, low = [1], high = [-1], interior = [0]
//!
//! %0 = stablehlo.concatenate %z, %x, dim = 0 : (tensor<1xf32>, tensor<64xf32>) -> tensor<65xf32>
//! %1 = stablehlo.slice %0 [0:64]
//! // becomes
//! %0 = stablehlo.slice %x [0:63]
//! %1 = stablehlo.concatenate %z, %0, dim = 0
//!
//! %0 = stablehlo.reverse %sorted, dims = [0] : tensor<64xf32>
//! %1 = stablehlo.slice %0 [0:8]
//! // becomes
//! %0 = stablehlo.slice %sorted [56:64]
//! %1 = stablehlo.reverse %0, dims = [0]
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{
    Module, OpId, OpKind, PadSpec, RegionId, Rewriter, SliceSpec, TensorBuild, UnaryOp, ValueId,
};

/// The maximum number of operations between a sort and a slice.
const MAX_STEPS: usize = 8;

/// Folds slices everywhere under `body`. Folded pads and concatenations remain as dead code.
pub fn fold_edges(module: &mut Module, body: RegionId) {
    let cuts = |&op: &OpId| match &module.ops[op].kind {
        OpKind::Slice(_) => true,
        OpKind::Pad(spec) => is_crop(spec) || is_nothing(spec),
        _ => false,
    };
    if module.walk(body).iter().any(cuts) {
        visit(&mut Rewriter::new(module), body);
    }
}

/// Whether a pad adds and removes nothing.
fn is_nothing(spec: &PadSpec) -> bool {
    spec.low.iter().chain(&spec.high).chain(&spec.interior).all(|&n| n == 0)
}

/// Whether a pad adds nothing and only removes edges.
fn is_crop(spec: &PadSpec) -> bool {
    let mut edges = spec.low.iter().chain(&spec.high);
    spec.interior.iter().all(|&n| n == 0) && edges.clone().any(|&n| n < 0) && edges.all(|&n| n <= 0)
}

fn visit(rw: &mut Rewriter<'_>, region: RegionId) {
    let local: FxHashSet<OpId> = rw.module.regions[region].ops.iter().copied().collect();
    rw.enter(region);
    while let Some(op) = rw.next_op() {
        for inner in rw.module.ops[op].regions.clone() {
            visit(rw, inner);
        }
        if let OpKind::Pad(spec) = &rw.module.ops[op].kind
            && is_nothing(spec)
            && rw.module.ops[op].results.iter().all(|&result| rw.module.shardings.of(result).is_none())
        {
            let input = rw.module.ops[op].operands[0];
            rw.replace(&[input]);
            continue;
        }
        crop(rw.module, op);
        if matches!(rw.module.ops[op].kind, OpKind::Slice(_)) {
            fold(rw, op, &local, 0);
        }
    }
}

/// Converts a pad that only removes edges to a slice. The derivative of a pad is such a pad.
fn crop(module: &mut Module, op: OpId) -> Option<()> {
    let OpKind::Pad(spec) = &module.ops[op].kind else { return None };
    let input = *module.ops[op].operands.first()?;
    let sizes = &module.tensor(input)?.shape;
    if !is_crop(spec) || !module.tensor(input)?.is_static() {
        return None;
    }
    let slice = SliceSpec {
        start: spec.low.iter().map(|&n| -n).collect(),
        limit: spec.high.iter().zip(sizes).map(|(&n, &size)| size + n).collect(),
        stride: sizes.iter().map(|_| 1).collect(),
    };
    let data = &mut module.ops[op];
    data.kind = OpKind::Slice(Box::new(slice));
    data.operands.truncate(1);
    Some(())
}

/// Folds one slice into the producer of its operand. If the result is another slice, that slice is folded as well.
fn fold(rw: &mut Rewriter<'_>, slice: OpId, local: &FxHashSet<OpId>, depth: usize) -> Option<()> {
    let module = &*rw.module;
    let data = &module.ops[slice];
    let (OpKind::Slice(spec), &[operand], &[result]) =
        (&data.kind, data.operands.as_slice(), data.results.as_slice())
    else {
        return None;
    };
    let producer = module.def_op(operand).filter(|op| local.contains(op))?;
    // Do not fold if the larger tensor, the operand of the slice, has a sharding annotation.
    let is_plain = spec.stride.iter().all(|&n| n == 1)
        && module.shardings.of(operand).is_none()
        && module.tensor(operand).is_some_and(|ty| ty.is_static());
    if !is_plain {
        return None;
    }
    let mut spec = (**spec).clone();
    let kind = module.ops[producer].kind.clone();
    match &kind {
        OpKind::Pad(_) | OpKind::Concatenate { .. } if depth < MAX_STEPS => {
            match &kind {
                OpKind::Pad(pad) => fold_pad(rw.module, slice, producer, &spec, pad)?,
                OpKind::Concatenate { dim } => fold_concatenate(rw, slice, producer, &spec, *dim as usize)?,
                _ => {}
            }
            // The folded operation may itself be a slice (of the pad's input or of one concatenated operand), which can be folded again.
            fold(rw, slice, local, depth + 1)
        }
        OpKind::Reverse { .. } | OpKind::Unary(UnaryOp::Negate) | OpKind::Convert
            if depth < MAX_STEPS && is_sorted(module, producer, local) =>
        {
            if let OpKind::Reverse { dims } = &kind {
                for dim in dims.iter().map(|&dim| dim as usize) {
                    let size = *module.shape(operand).get(dim)?;
                    (spec.start[dim], spec.limit[dim]) = (size - spec.limit[dim], size - spec.start[dim]);
                }
            }
            let source = *module.ops[producer].operands.first()?;
            let (shape, dtype) = (module.shape(result).to_vec(), module.tensor(source)?.dtype);
            let part = rw.tensor(OpKind::Slice(Box::new(spec)), &[source], &shape, dtype);
            rw.module.ops[slice].kind = kind;
            rw.module.ops[slice].operands = [part].into_iter().collect();
            let inner = rw.module.def_op(part)?;
            fold(rw, inner, local, depth + 1);
            Some(())
        }
        _ => None,
    }
}

/// Converts a slice of a pad to one pad with negative padding, or to a slice of the pad's input if nothing is added.
fn fold_pad(module: &mut Module, slice: OpId, pad: OpId, spec: &SliceSpec, old: &PadSpec) -> Option<()> {
    let &[input, value] = module.ops[pad].operands.as_slice() else { return None };
    let (sizes, padded) = (module.tensor(input)?.shape.to_vec(), module.shape(module.ops[slice].operands[0]));
    let mut new = old.clone();
    for (d, &size) in sizes.iter().enumerate() {
        let is_whole = spec.start[d] == 0 && spec.limit[d] == padded[d];
        new.low[d] -= spec.start[d];
        new.high[d] -= padded[d] - spec.limit[d];
        // Negative padding must not remove more elements than the operand has.
        let cuts = (-new.low[d]).max(0) + (-new.high[d]).max(0);
        if !is_whole && (old.interior[d] != 0 || cuts > size) {
            return None;
        }
    }
    let data = &mut module.ops[slice];
    let adds = new.low.iter().chain(&new.high).any(|&n| n > 0) || new.interior.iter().any(|&n| n != 0);
    if adds {
        data.operands = [input, value].into_iter().collect();
        data.kind = OpKind::Pad(Box::new(new));
    } else {
        data.operands = [input].into_iter().collect();
        data.kind = OpKind::Slice(Box::new(SliceSpec {
            start: new.low.iter().map(|&n| -n).collect(),
            limit: new.high.iter().zip(&sizes).map(|(&n, &size)| size + n).collect(),
            stride: spec.stride.clone(),
        }));
    }
    Some(())
}

/// Converts a slice of a concatenation along `dim` to a concatenation of slices of its operands.
fn fold_concatenate(
    rw: &mut Rewriter<'_>,
    slice: OpId,
    join: OpId,
    spec: &SliceSpec,
    dim: usize,
) -> Option<()> {
    let mut operands = rw.module.ops[join].operands.clone();
    operands.retain(|v| !rw.module.shape(*v).contains(&0));
    if let &[only] = operands.as_slice() {
        rw.module.ops[slice].operands = [only].into_iter().collect();
        return Some(());
    }
    let total = *rw.module.shape(rw.module.ops[join].results[0]).get(dim)?;
    // The slice may cut only the concatenated dimension: otherwise all operands would also have to be sliced along other dimensions.
    let (low, high) = (spec.start[dim], spec.limit[dim]);
    let sizes = rw.module.shape(rw.module.ops[join].results[0]);
    let cuts_others = sizes.iter().enumerate().any(|(d, &n)| d != dim && spec.limit[d] - spec.start[d] != n);
    if cuts_others || high - low == total || low == high {
        return None;
    }
    let mut first = 0;
    let mut parts = Vec::new();
    for operand in operands {
        let size = *rw.module.shape(operand).get(dim)?;
        let (start, limit) = (low.max(first) - first, high.min(first + size) - first);
        first += size;
        if start < limit {
            parts.push((operand, start, limit, size));
        }
    }
    if let &[(operand, start, limit, _)] = parts.as_slice() {
        let mut spec = spec.clone();
        (spec.start[dim], spec.limit[dim]) = (start, limit);
        let data = &mut rw.module.ops[slice];
        data.operands = [operand].into_iter().collect();
        data.kind = OpKind::Slice(Box::new(spec));
        return Some(());
    }
    let parts: Vec<ValueId> = parts
        .into_iter()
        .map(
            |(operand, start, limit, size)| {
                if (start, limit) == (0, size) { operand } else { rw.range(operand, dim, start, limit) }
            },
        )
        .collect();
    let data = &mut rw.module.ops[slice];
    data.kind = OpKind::Concatenate { dim: dim as u32 };
    data.operands = parts.into_iter().collect();
    Some(())
}

/// Whether the operand of an operation is a sort result, possibly after reversals, negations and conversions.
fn is_sorted(module: &Module, op: OpId, local: &FxHashSet<OpId>) -> bool {
    let mut op = op;
    for _ in 0..MAX_STEPS {
        let Some(&operand) = module.ops[op].operands.first() else { return false };
        let Some(producer) = module.def_op(operand).filter(|op| local.contains(op)) else { return false };
        match module.ops[producer].kind {
            OpKind::Sort { .. } => return true,
            OpKind::Reverse { .. } | OpKind::Unary(UnaryOp::Negate) | OpKind::Convert => op = producer,
            _ => return false,
        }
    }
    false
}
