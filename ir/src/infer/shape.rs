//! Inference of operations that move elements: slices, padding, concatenation, transposition.

use smallvec::smallvec;

use super::bounds::bound;
use super::{Ctx, Fail, Res, Ty, Types, distinct_dims, ensure, known, on_size, same, size_fits, tensor};
use crate::{DYNAMIC, DimList, PadSpec, Shape, SizeList, SliceSpec, SplicePiece, SpliceSpec};

pub(crate) fn transpose(cx: &Ctx<'_>, permutation: &DimList) -> Res<Types> {
    let operand = cx.tensor(0)?;
    ensure!(
        permutation.len() == operand.rank(),
        "permutation {permutation:?} of transpose must have one entry per dimension of {operand}"
    );
    distinct_dims(cx.name(), "permutation", permutation, operand.rank())?;
    let shape: Shape = permutation.iter().map(|&d| operand.shape[d as usize]).collect();
    Ok(tensor(&shape, operand.dtype))
}

pub(crate) fn slice(cx: &Ctx<'_>, spec: &SliceSpec) -> Res<Types> {
    let operand = cx.tensor(0)?;
    let rank = operand.rank();
    ensure!(
        spec.start.len() == rank && spec.limit.len() == rank && spec.stride.len() == rank,
        "the bounds of slice must have one entry per dimension of {operand}"
    );
    let mut shape = Shape::new();
    for d in 0..rank {
        let (start, limit, stride) = (spec.start[d], spec.limit[d], spec.stride[d]);
        let size = operand.shape[d];
        ensure!(
            0 <= start && start <= limit && (size == DYNAMIC || limit <= size) && stride > 0,
            "slice [{start}:{limit}:{stride}] of dimension {d} is invalid for {operand}"
        );
        if let Some(bound) = bound(operand, d) {
            ensure!(
                limit <= bound,
                "slice [{start}:{limit}:{stride}] of dimension {d} is invalid for {operand}, whose bound is {bound}"
            );
        }
        // `limit - start + stride - 1` could overflow with a huge stride.
        let span = limit - start;
        shape.push(span / stride + i64::from(span % stride != 0));
    }
    Ok(tensor(&shape, operand.dtype))
}

/// Checks that the operands from `first` are one integer scalar per dimension, all of the same type.
fn start_indices(cx: &Ctx<'_>, first: usize, rank: usize) -> Res<()> {
    ensure!(
        cx.operands.len() == first + rank,
        "{} needs {rank} start indices for a tensor of rank {rank}, got {}",
        cx.name(),
        cx.operands.len().saturating_sub(first)
    );
    for i in first..cx.operands.len() {
        let index = cx.scalar(i)?;
        ensure!(index.dtype.is_integer(), "start indices of {} must be integers, got {index}", cx.name());
        let other = cx.scalar(first)?;
        ensure!(
            index.dtype == other.dtype,
            "start indices of {} have different types: {other} and {index}",
            cx.name()
        );
    }
    Ok(())
}

pub(crate) fn dynamic_slice(cx: &Ctx<'_>, sizes: &SizeList) -> Res<Types> {
    let operand = cx.tensor(0)?;
    start_indices(cx, 1, operand.rank())?;
    ensure!(
        sizes.len() == operand.rank()
            && sizes.iter().zip(&operand.shape).all(|(&s, &n)| s >= 0 && (n == DYNAMIC || s <= n)),
        "slice sizes {sizes:?} of dynamic_slice do not fit {operand}"
    );
    Ok(tensor(sizes, operand.dtype))
}

pub(crate) fn dynamic_update_slice(cx: &Ctx<'_>) -> Res<Types> {
    let (operand, update) = (cx.tensor(0)?, cx.tensor(1)?);
    start_indices(cx, 2, operand.rank())?;
    let fits = update.rank() == operand.rank()
        && update.shape.iter().zip(&operand.shape).all(|(&u, &n)| u == DYNAMIC || n == DYNAMIC || u <= n);
    ensure!(
        fits && update.dtype == operand.dtype,
        "the update {update} of dynamic_update_slice must have the rank and element type of {operand}, and must not be larger"
    );
    same(cx, 0)
}

pub(crate) fn concatenate(cx: &Ctx<'_>, dim: u32) -> Res<Types> {
    let first = cx.tensor(0)?;
    let dim = dim as usize;
    ensure!(dim < first.rank(), "dimension {dim} of concatenate is out of range for {first}");
    let mut shape = first.shape.clone();
    for i in 1..cx.operands.len() {
        let next = cx.tensor(i)?;
        ensure!(
            next.dtype == first.dtype && next.rank() == first.rank(),
            "concatenate of {first} and {next} (operand {i}): the element types or the ranks differ"
        );
        for d in 0..shape.len() {
            let (a, b) = (shape[d], next.shape[d]);
            if d == dim {
                shape[d] =
                    if a == DYNAMIC || b == DYNAMIC { DYNAMIC } else { checked(cx, a.checked_add(b))? };
            } else {
                ensure!(
                    size_fits(a, b),
                    "concatenate of {first} and {next} (operand {i}): the sizes of dimension {d} differ"
                );
                shape[d] = known(a, b);
            }
        }
    }
    // The result has exactly the operand's type, including bounds.
    if cx.operands.len() == 1 {
        return Ok(smallvec![Ty::Same(cx.ty(0)?)]);
    }
    Ok(tensor(&shape, first.dtype))
}

pub(crate) fn splice(cx: &Ctx<'_>, spec: &SpliceSpec) -> Res<Types> {
    let first = cx.tensor(0)?;
    let dim = spec.dim as usize;
    ensure!(
        dim < first.rank(),
        "dimension {dim} of shardc.splice is out of range for an operand of type {first}"
    );
    for i in 0..cx.operands.len() {
        let next = cx.tensor(i)?;
        let fits = |d: usize| d == dim || next.shape[d] == first.shape[d];
        ensure!(
            next.dtype == first.dtype && next.rank() == first.rank() && (0..first.rank()).all(fits),
            "splice of {first} and {next} (operand {i}): the element types, the ranks, or other dimensions differ"
        );
        ensure!(!next.shape.contains(&DYNAMIC), "splice of {next}: operands must have static shapes");
    }
    let mut size = 0i64;
    for piece in &spec.pieces {
        let SplicePiece { operand, start, limit } = *piece;
        ensure!(
            (operand as usize) < cx.operands.len(),
            "shardc.splice has {} operands, but a piece refers to operand {operand}",
            cx.operands.len()
        );
        let from = cx.tensor(operand as usize)?;
        ensure!(
            0 <= start && start <= limit && limit <= from.shape[dim],
            "piece [{start}:{limit}] of dimension {dim} is invalid for {from} (operand {operand})"
        );
        size = checked(cx, size.checked_add(limit - start))?;
    }
    let mut shape = first.shape.clone();
    shape[dim] = size;
    Ok(tensor(&shape, first.dtype))
}

pub(crate) fn pad(cx: &Ctx<'_>, spec: &PadSpec) -> Res<Types> {
    let operand = cx.tensor(0)?;
    let value = cx.scalar(1)?;
    ensure!(
        value.dtype == operand.dtype,
        "pad of {operand} with a value of type {value}: the element types differ"
    );
    let rank = operand.rank();
    ensure!(
        spec.low.len() == rank && spec.high.len() == rank && spec.interior.len() == rank,
        "the padding of pad must have one entry per dimension of {operand}"
    );
    let mut shape = Shape::new();
    for d in 0..rank {
        let (low, high, interior) = (spec.low[d], spec.high[d], spec.interior[d]);
        ensure!(interior >= 0, "interior padding {interior} of dimension {d} is negative");
        let size = operand.shape[d];
        // The bound is used as the size, so padding that removes more elements than the bound is rejected.
        let known = if size == DYNAMIC { bound(operand, d) } else { Some(size) };
        let Some(known) = known else {
            shape.push(size);
            continue;
        };
        let padded = (known - 1)
            .max(0)
            .checked_mul(interior)
            .and_then(|n| n.checked_add(known)?.checked_add(low)?.checked_add(high));
        let padded = checked(cx, padded)?;
        ensure!(padded >= 0, "pad of {operand} leaves dimension {d} with a negative size ({padded})");
        shape.push(if size == DYNAMIC { size } else { padded });
    }
    Ok(tensor(&shape, operand.dtype))
}

/// Returns the size, or fails if it overflowed.
pub(crate) fn checked(cx: &Ctx<'_>, size: Option<i64>) -> Res<i64> {
    size.ok_or_else(|| Fail::Wrong(format!("a dimension size of the result of {} overflows", cx.name())))
}

/// Returns a size times `n`, or fails if that overflows.
pub(crate) fn times(cx: &Ctx<'_>, size: i64, n: i64) -> Res<i64> {
    let product = if size == DYNAMIC { Some(size) } else { size.checked_mul(n) };
    checked(cx, product)
}

/// Returns a size divided by `n`; fails unless the size is a multiple of `n`.
pub(crate) fn divided(cx: &Ctx<'_>, size: i64, n: i64, dim: usize) -> Res<i64> {
    ensure!(n > 0, "{} splits dimension {dim} into {n} parts, expected at least 1", cx.name());
    ensure!(
        size == DYNAMIC || size % n == 0,
        "{} splits dimension {dim} of size {size} into {n} parts, but {size} is not divisible by {n}",
        cx.name()
    );
    Ok(on_size(size, |size| size / n))
}
