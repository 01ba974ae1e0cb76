//! The result types of operations whose operands were refined.

use shardc_ir::{
    AxisList, AxisRef, BinaryOp, DYNAMIC, DynamicOp, Module, OpId, OpKind, RegionId, Shape, ShardingId,
    SizeList, TensorType, Type, TypeId, ValueId, infer_types,
};
use smallvec::{SmallVec, smallvec};

use super::integers::Integers;

/// Custom calls whose result has the shape of their operand.
const IDENTITIES: &[&str] =
    &["Sharding", "LayoutConstraint", "annotate_device_placement", "xla.sdy.FuncResultSharding"];

/// The known shape of each result, if any.
type Shapes = SmallVec<[Option<Shape>; 2]>;

/// Refines the dynamic sizes of the results of an operation from its operands, regions and attributes.
pub(super) fn refine_results(module: &mut Module, op: OpId, integers: &Integers) {
    let results = module.ops[op].results.clone();
    if !results.iter().any(|&result| is_dynamic(module, module.values[result].ty)) {
        return;
    }
    let shapes = shapes(module, op, integers);
    for (&result, shape) in results.iter().zip(shapes) {
        if let Some(shape) = shape {
            refine(module, result, &shape);
        }
    }
}

/// Whether a type has a dimension of unknown size.
pub(super) fn is_dynamic(module: &Module, ty: TypeId) -> bool {
    module.types.shape_of(ty).is_some_and(|shape| shape.contains(&DYNAMIC))
}

/// Replaces the unknown sizes of a value's type by the known sizes of `shape`.
pub(super) fn refine(module: &mut Module, value: ValueId, shape: &[i64]) {
    let old = module.values[value].ty;
    let Some(sizes) = module.types.shape_of(old).filter(|sizes| sizes.len() == shape.len()) else { return };
    let merged: Shape =
        sizes.iter().zip(shape).map(|(&old, &new)| if old == DYNAMIC { new } else { old }).collect();
    if merged == *sizes {
        return;
    }
    let ty = match module.types.get(old).clone() {
        Type::Tensor(ty) => {
            // A static shape needs no bounds.
            let encoding = ty.encoding.filter(|_| merged.contains(&DYNAMIC));
            Type::Tensor(TensorType { shape: merged, dtype: ty.dtype, encoding })
        }
        Type::Quantized(mut ty) => {
            ty.shape = merged;
            Type::Quantized(ty)
        }
        _ => return,
    };
    module.values[value].ty = module.types.intern(ty);
}

/// Replaces the unknown sizes of the type of `value` by known sizes of the type of `from`.
pub(super) fn refine_from(module: &mut Module, value: ValueId, from: ValueId) {
    let shape = module.shape(from).to_vec();
    refine(module, value, &shape);
}

fn shapes(module: &mut Module, op: OpId, integers: &Integers) -> Shapes {
    let data = &module.ops[op];
    let (kind, operands, regions) = (data.kind.clone(), data.operands.clone(), data.regions.clone());
    let shape = |i: usize| operands.get(i).map(|&v| Shape::from_slice(module.shape(v)));
    let list = |i: usize| operands.get(i).and_then(|&v| integers.of(module, v));
    let given = |i: usize| list(i).filter(|sizes| sizes.iter().all(|&n| n >= 0));
    let result = data.results.first().map(|&v| Shape::from_slice(module.shape(v)));
    match &kind {
        OpKind::Convert | OpKind::UniformQuantize | OpKind::UniformDequantize => smallvec![shape(0)],
        OpKind::BitcastConvert => smallvec![shape(0).zip(result).map(|(from, to)| bitcast(from, &to))],
        OpKind::Reshape => smallvec![shape(0).zip(result).and_then(|(from, to)| reshaped(&from, to))],
        OpKind::Dynamic(DynamicOp::Reshape) => {
            let by_count = || shape(0).zip(result).and_then(|(from, to)| reshaped(&from, to));
            smallvec![given(1).map(to_shape).or_else(by_count)]
        }
        OpKind::Dynamic(DynamicOp::BroadcastInDim(_)) => smallvec![given(1).map(to_shape)],
        OpKind::Dynamic(DynamicOp::Iota { .. }) => smallvec![given(0).map(to_shape)],
        OpKind::Dynamic(DynamicOp::Pad) => {
            let padding = list(2).zip(list(3)).zip(list(4));
            smallvec![
                shape(0)
                    .zip(padding)
                    .and_then(|(from, ((low, high), interior))| { padded(&from, &low, &high, &interior) })
            ]
        }
        OpKind::Dynamic(DynamicOp::RealSlice) => {
            let ranges = list(1).zip(list(2)).zip(list(3));
            let known = ranges.and_then(|((start, limit), stride)| sliced(&start, &limit, &stride));
            smallvec![known.or_else(|| moved_slice(module, &operands, integers))]
        }
        OpKind::Case | OpKind::If => of_branches(module, op),
        OpKind::NamedComputation(_) => regions.first().map_or_else(Shapes::new, |&r| yielded(module, r)),
        OpKind::CustomCall(spec) if IDENTITIES.contains(&&*spec.target) => smallvec![shape(0)],
        OpKind::ManualComputation(spec) => {
            let local = regions.first().map_or_else(Shapes::new, |&r| yielded(module, r));
            let global = |(local, &sharding): (Option<Shape>, _)| {
                let local = local?;
                let blocks = manual_blocks(module, sharding, &spec.manual_axes, local.len());
                let size = |(n, blocks): (&i64, &i64)| if *n == DYNAMIC { DYNAMIC } else { n * blocks };
                Some(local.iter().zip(&blocks).map(size).collect())
            };
            local.into_iter().zip(&spec.out_shardings).map(global).collect()
        }
        _ => match infer_types(module, &kind, &operands, &regions) {
            Ok(types) => types.into_iter().map(|ty| module.types.shape_of(ty).cloned()).collect(),
            // The types cannot be inferred if operands do not fit the operation; the verifier reports this.
            Err(_) => Shapes::new(),
        },
    }
}

/// Returns for each of `rank` dimensions the number of blocks into which the manual axes of the sharding divide the dimension.
pub(super) fn manual_blocks(
    module: &Module,
    sharding: ShardingId,
    manual: &AxisList,
    rank: usize,
) -> SmallVec<[i64; 6]> {
    let sharding = module.shardings.get(sharding);
    let mesh = &module.meshes[sharding.mesh];
    let is_manual = |axis: &&AxisRef| manual.iter().any(|other| other.axis == axis.axis);
    let blocks =
        |dim| sharding.axes(dim).iter().filter(is_manual).map(|&axis| mesh.axis_size(axis)).product();
    (0..rank).map(blocks).collect()
}

fn to_shape(sizes: SizeList) -> Shape {
    sizes.into_iter().collect()
}

/// Returns the shapes of the values that a region returns.
fn yielded(module: &Module, region: RegionId) -> Shapes {
    let Some(end) = module.terminator(region) else { return Shapes::new() };
    module.ops[end].operands.iter().map(|&v| module.types.shape_of(module.values[v].ty).cloned()).collect()
}

/// Returns for each result the sizes that are known in at least one branch.
fn of_branches(module: &Module, op: OpId) -> Shapes {
    let mut all = module.ops[op].regions.iter().map(|&region| yielded(module, region));
    let mut merged = all.next().unwrap_or_default();
    for branch in all {
        for (known, other) in merged.iter_mut().flatten().zip(branch.iter().flatten()) {
            for (n, &m) in known.iter_mut().zip(other) {
                *n = if *n == DYNAMIC { m } else { *n };
            }
        }
    }
    merged
}

/// Returns the result shape of a bitcast conversion from shape `from`. The result has the same sizes, except that it may lack the last
/// dimension or have an additional one.
fn bitcast(from: Shape, to: &[i64]) -> Shape {
    let mut sizes: Shape = to.into();
    for (size, &known) in sizes.iter_mut().zip(&from) {
        *size = known;
    }
    sizes
}

/// Returns the shape of a reshape in which at most one size is unknown.
fn reshaped(from: &[i64], mut to: Shape) -> Option<Shape> {
    let count = product(from.iter().copied())?;
    let known = product(to.iter().copied().filter(|&n| n != DYNAMIC))?;
    let mut unknown = to.iter_mut().filter(|n| **n == DYNAMIC);
    let (size, None) = (unknown.next()?, unknown.next()) else { return None };
    if known == 0 || count % known != 0 {
        return None;
    }
    *size = count / known;
    Some(to)
}

fn product(mut sizes: impl Iterator<Item = i64>) -> Option<i64> {
    sizes.try_fold(1i64, |n, size| if size == DYNAMIC { None } else { n.checked_mul(size) })
}

fn padded(from: &[i64], low: &[i64], high: &[i64], interior: &[i64]) -> Option<Shape> {
    if [low, high, interior].iter().any(|list| list.len() != from.len()) {
        return None;
    }
    let size = |d: usize| match from[d] {
        DYNAMIC => Some(DYNAMIC),
        n => {
            let gaps = (n - 1).max(0).checked_mul(interior[d])?;
            let size = n.checked_add(gaps)?.checked_add(low[d])?.checked_add(high[d])?;
            (size >= 0).then_some(size)
        }
    };
    (0..from.len()).map(size).collect()
}

fn sliced(start: &[i64], limit: &[i64], stride: &[i64]) -> Option<Shape> {
    if limit.len() != start.len() || stride.len() != start.len() {
        return None;
    }
    let size = |d: usize| {
        let (length, stride) = (limit[d].checked_sub(start[d])?, stride[d]);
        (length >= 0 && stride > 0).then(|| (length / stride) + i64::from(length % stride != 0))
    };
    (0..start.len()).map(size).collect()
}

/// Returns the sizes of a slice of stride one whose limit is the start plus known sizes, regardless of the start.
fn moved_slice(module: &Module, operands: &[ValueId], integers: &Integers) -> Option<Shape> {
    let &[_, start, limit, stride] = operands else { return None };
    let sum = &module.ops[module.def_op(limit)?];
    let OpKind::Binary(BinaryOp::Add) = sum.kind else { return None };
    let sizes = match *sum.operands.as_slice() {
        [a, b] if a == start => integers.of(module, b)?,
        [a, b] if b == start => integers.of(module, a)?,
        _ => return None,
    };
    let is_one = integers.of(module, stride)?.iter().all(|&n| n == 1);
    (is_one && sizes.iter().all(|&n| n >= 0)).then(|| to_shape(sizes))
}
