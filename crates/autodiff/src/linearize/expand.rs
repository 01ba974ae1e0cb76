//! Expands reductions, cumulative reductions and window reductions with arbitrary combiners to trees of the combiner on tensors, so that
//! each operation has a derivative.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Access, Build, DimList, Module, OpId, OpKind, PadSpec, RegionId, SizeList, SliceSpec, TensorBuild, Type,
    ValueId, WindowSpec,
};

use crate::emit::{Arithmetic, Emit};

/// The combiner of a reduction, applied element-wise to tensors.
pub(super) struct Combiner {
    region: RegionId,
}

impl Combiner {
    /// Returns the combiner in a region of scalars, or `None` if it is not element-wise.
    pub(super) fn of(module: &Module, region: RegionId) -> Option<Combiner> {
        let data = &module.regions[region];
        let is_elementwise = |op: &OpId| {
            let op = &module.ops[*op];
            let is_scalar = |&v: &ValueId| module.tensor(v).is_some_and(|ty| ty.rank() == 0);
            let known =
                matches!(op.kind, OpKind::Return | OpKind::Constant(_) | OpKind::Select | OpKind::Convert)
                    || op.kind.def().access == Access::SamePlace;
            known && op.regions.is_empty() && op.operands.iter().chain(&op.results).all(is_scalar)
        };
        // Captured values are not supported, since they would have to be broadcast.
        let inside =
            |v: &ValueId| module.def_op(*v).map_or(data.args.contains(v), |op| data.ops.contains(&op));
        let closed = data.ops.iter().all(|&op| module.ops[op].operands.iter().all(inside));
        (closed && data.ops.iter().all(is_elementwise)).then_some(Combiner { region })
    }

    /// Applies the combiner to tensors. `args` contains all left operands, then all right operands.
    pub(super) fn apply(&self, e: &mut Emit<'_>, args: &[ValueId]) -> Vec<ValueId> {
        let shape = e.type_of(args[0]).shape;
        let module = e.module();
        let params = module.regions[self.region].args.clone();
        let ops = module.regions[self.region].ops.to_vec();
        let mut map: FxHashMap<ValueId, ValueId> = params.into_iter().zip(args.iter().copied()).collect();
        for op in ops {
            let data = e.module().ops[op].clone();
            let operands: Vec<ValueId> =
                data.operands.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
            if matches!(data.kind, OpKind::Return) {
                return operands;
            }
            let Some(dtype) = e.dtype(data.results[0]) else { continue };
            let made = e.tensor(data.kind, &operands, &shape, dtype);
            map.insert(data.results[0], made);
        }
        Vec::new()
    }
}

/// Returns the elements `start`, `start + stride`, ... below `limit` along a dimension.
fn every(e: &mut Emit<'_>, value: ValueId, dim: usize, (start, limit, stride): (i64, i64, i64)) -> ValueId {
    let ty = e.type_of(value);
    let mut spec = SliceSpec {
        start: SizeList::from_elem(0, ty.shape.len()),
        limit: ty.shape.iter().copied().collect(),
        stride: SizeList::from_elem(1, ty.shape.len()),
    };
    (spec.start[dim], spec.limit[dim], spec.stride[dim]) = (start, limit, stride);
    let mut shape = ty.shape.to_vec();
    shape[dim] = (limit - start).max(0).unsigned_abs().div_ceil(stride.unsigned_abs()) as i64;
    e.tensor(OpKind::Slice(Box::new(spec)), &[value], &shape, ty.dtype)
}

/// Emits the cumulative reduction along a dimension (an inclusive prefix scan from the first element), by Blelloch's scan of logarithmic
/// depth.
pub(super) fn cumulate(e: &mut Emit<'_>, combiner: &Combiner, value: ValueId, dim: usize) -> Option<ValueId> {
    let n = e.type_of(value).shape[dim];
    if n < 2 {
        return Some(value);
    }
    let (even, odd) = (every(e, value, dim, (0, n - 1, 2)), every(e, value, dim, (1, n, 2)));
    let pairs = *combiner.apply(e, &[even, odd]).first()?;
    let odd = cumulate(e, combiner, pairs, dim)?;
    let rest = every(e, value, dim, (2, n, 2));
    let before = match n % 2 {
        0 => every(e, odd, dim, (0, n / 2 - 1, 1)),
        _ => odd,
    };
    let first = every(e, value, dim, (0, 1, 1));
    let even = match e.type_of(rest).shape[dim] {
        0 => first,
        _ => {
            let inner = *combiner.apply(e, &[before, rest]).first()?;
            concatenate(e, &[first, inner], dim)
        }
    };
    Some(interleave(e, even, odd, dim, n))
}

fn concatenate(e: &mut Emit<'_>, parts: &[ValueId], dim: usize) -> ValueId {
    let mut ty = e.type_of(parts[0]);
    ty.shape[dim] = parts.iter().map(|&v| e.type_of(v).shape[dim]).sum();
    let ty = e.module().types.intern(Type::Tensor(ty));
    e.op1(OpKind::Concatenate { dim: dim as u32 }, parts, ty)
}

/// Interleaves the elements of `even` and `odd` along dimension `dim`; the result has `n` elements along it.
fn interleave(e: &mut Emit<'_>, even: ValueId, odd: ValueId, dim: usize, n: i64) -> ValueId {
    let spread = |e: &mut Emit<'_>, value: ValueId, low: i64| {
        let ty = e.type_of(value);
        let none = SizeList::from_elem(0, ty.shape.len());
        let mut pad = PadSpec { low: none.clone(), high: none.clone(), interior: none };
        let reach = 2 * ty.shape[dim] - 1;
        (pad.low[dim], pad.high[dim], pad.interior[dim]) = (low, n - low - reach, 1);
        let mut shape = ty.shape.to_vec();
        shape[dim] = n;
        let zero = e.zeros(&[], ty.dtype);
        e.tensor(OpKind::Pad(Box::new(pad)), &[value, zero], &shape, ty.dtype)
    };
    let (even, odd) = (spread(e, even, 0), spread(e, odd, 1));
    e.add(even, odd)
}

/// Reverses a tensor along a dimension.
pub(super) fn reversed(e: &mut Emit<'_>, value: ValueId, dim: usize) -> ValueId {
    e.alike(OpKind::Reverse { dims: DimList::from_slice(&[dim as u32]) }, &[value])
}

/// Reduces tensors along dimensions: combines their halves until one element is left, then combines `init` with this element.
pub(super) fn reduce(
    e: &mut Emit<'_>,
    combiner: &Combiner,
    values: &[ValueId],
    inits: &[ValueId],
    dims: &DimList,
) -> Option<Vec<ValueId>> {
    let mut values = values.to_vec();
    for &dim in dims {
        let dim = dim as usize;
        loop {
            let n = e.type_of(values[0]).shape[dim];
            if n < 2 {
                break;
            }
            let half = n / 2;
            let (mut left, mut right, mut rest) = (Vec::new(), Vec::new(), Vec::new());
            for &value in &values {
                left.push(every(e, value, dim, (0, half, 1)));
                right.push(every(e, value, dim, (half, 2 * half, 1)));
                if n % 2 == 1 {
                    rest.push(every(e, value, dim, (n - 1, n, 1)));
                }
            }
            left.extend(right);
            let combined = combiner.apply(e, &left);
            values = match rest.is_empty() {
                true => combined,
                false => combined.iter().zip(&rest).map(|(&a, &b)| concatenate(e, &[a, b], dim)).collect(),
            };
        }
    }
    let ty = e.type_of(*values.first()?);
    let is_empty = dims.iter().any(|&d| ty.shape[d as usize] == 0);
    let kept: Vec<i64> =
        (0..ty.shape.len()).filter(|&d| !dims.contains(&(d as u32))).map(|d| ty.shape[d]).collect();
    let mut args = Vec::new();
    for &init in inits {
        args.push(e.spread(init, DimList::new(), &kept)?);
    }
    if is_empty {
        return Some(args);
    }
    for value in values {
        let dtype = e.dtype(value)?;
        args.push(e.tensor(OpKind::Reshape, &[value], &kept, dtype));
    }
    Some(combiner.apply(e, &args))
}

/// Combines the elements of windows. Each list of `spec` has an entry for each dimension. Padding around and between elements is `init`, as
/// in a `reduce_window`.
pub(super) fn windows(
    e: &mut Emit<'_>,
    combiner: &Combiner,
    values: &[ValueId],
    inits: &[ValueId],
    spec: &WindowSpec,
) -> Option<Vec<ValueId>> {
    let rank = spec.dimensions.len();
    let mut padded = Vec::new();
    for (&value, &init) in values.iter().zip(inits) {
        let ty = e.type_of(value);
        let pad = PadSpec {
            low: spec.padding.iter().map(|p| p.0).collect(),
            high: spec.padding.iter().map(|p| p.1).collect(),
            interior: spec.base_dilations.iter().map(|n| n - 1).collect(),
        };
        let size = |d: usize| {
            let n = ty.shape[d];
            (if n == 0 { 0 } else { (n - 1) * spec.base_dilations[d] + 1 }) + pad.low[d] + pad.high[d]
        };
        let shape: Vec<i64> = (0..rank).map(size).collect();
        if shape.iter().any(|&n| n < 0) {
            return None;
        }
        let is_nothing = [&pad.low, &pad.high, &pad.interior].iter().all(|list| list.iter().all(|&n| n == 0));
        padded.push(match is_nothing {
            true => value,
            false => e.tensor(OpKind::Pad(Box::new(pad)), &[value, init], &shape, ty.dtype),
        });
    }
    // Windows are combined along one dimension after the other: the sum of the window sizes is less than their product.
    for d in 0..rank {
        let (n, gap, stride) = (spec.dimensions[d], spec.window_dilations[d], spec.strides[d]);
        let room = e.type_of(padded[0]).shape[d] - ((n - 1) * gap + 1);
        let reach = if room < 0 { 0 } else { room / stride * stride + 1 };
        let at =
            |e: &mut Emit<'_>, value: ValueId, j: i64| every(e, value, d, (j * gap, j * gap + reach, stride));
        if n == 0 || (n, stride) == (1, 1) {
            continue;
        }
        let mut all: Vec<ValueId> = padded.iter().map(|&v| at(e, v, 0)).collect();
        for j in 1..n {
            all.extend(padded.iter().map(|&v| at(e, v, j)));
            all = combiner.apply(e, &all);
        }
        padded = all;
    }
    let shape = e.type_of(*padded.first()?).shape.to_vec();
    let mut args = Vec::new();
    for &init in inits {
        args.push(e.spread(init, DimList::new(), &shape)?);
    }
    if spec.dimensions.contains(&0) {
        return None;
    }
    args.extend(padded);
    Some(combiner.apply(e, &args))
}
