//! Inference of reductions and sorting.

use super::{Ctx, Res, Ty, Types, distinct_dims, ensure, shape_fits, shape_text, size_fits, without};
use crate::{DType, DimList, TensorType};

/// Checks that operands are `n` tensors of the same shape, followed by `n` initial values with the same element types or, if there is a
/// body, with types that promote to the body's types. Returns `n`.
pub(crate) fn pairs(cx: &Ctx<'_>) -> Res<usize> {
    let count = cx.operands.len();
    ensure!(
        count >= 2 && count.is_multiple_of(2),
        "{} needs as many initial values as inputs, got {count} operands",
        cx.name()
    );
    let n = count / 2;
    let first = cx.tensor(0)?;
    for i in 0..n {
        let (input, init) = (cx.tensor(i)?, cx.tensor(n + i)?);
        ensure!(
            shape_fits(&input.shape, &first.shape),
            "inputs of {} have different shapes: {} and {}",
            cx.name(),
            shape_text(&first.shape),
            shape_text(&input.shape)
        );
        ensure!(
            input.dtype == init.dtype || cx.yields(0).is_some_and(|types| types.len() == n),
            "{} of {input} with an initial value of type {init}: the element types differ",
            cx.name()
        );
    }
    Ok(n)
}

/// Returns the element type of result `i` of a reduction of `n` inputs. Initial values must fit the shape `slice`: the bodies of some
/// reductions operate on tensors with a subsequence of its dimensions.
pub(crate) fn reduced(cx: &Ctx<'_>, n: usize, i: usize, slice: &[i64]) -> Res<DType> {
    let (input, init) = (cx.tensor(i)?, cx.tensor(n + i)?);
    let mut sizes = slice.iter();
    ensure!(
        // Each search in `sizes` continues after the previous match: the dimensions of the initial value must be a
        // subsequence of those of the slice.
        init.shape.iter().all(|&size| sizes.any(|&n| size_fits(n, size))),
        "operand {} of {}, an initial value, must be a scalar or have dimensions of {}, got {init}",
        n + i,
        cx.name(),
        shape_text(slice)
    );
    // The returned type is not used: the call only reports an error if the initial value cannot be promoted to the body's type.
    cx.accumulated(0, i, init.dtype)?;
    cx.accumulated(0, i, input.dtype)
}

pub(crate) fn reduce(cx: &Ctx<'_>, dims: &DimList) -> Res<Types> {
    let n = pairs(cx)?;
    let first = cx.tensor(0)?;
    distinct_dims(cx.name(), "dimensions", dims, first.rank())?;
    let shape = without(&first.shape, dims);
    let result =
        |i: usize| -> Res<Ty> { Ok(Ty::Tensor(TensorType::new(&shape, reduced(cx, n, i, &shape)?))) };
    (0..n).map(result).collect()
}

pub(crate) fn sort(cx: &Ctx<'_>, dim: i64) -> Res<Types> {
    let first = cx.tensor(0)?;
    let rank = first.rank() as i64;
    // A scalar has no dimensions, but sorting it along dimension 0 is accepted.
    ensure!(
        (-rank.max(1)..rank.max(1)).contains(&dim),
        "dimension {dim} of sort is out of range for {first}"
    );
    let result = |i: usize| -> Res<Ty> {
        let next = cx.tensor(i)?;
        ensure!(
            shape_fits(&next.shape, &first.shape),
            "operands of sort have different shapes: {first} and {next}"
        );
        Ok(Ty::Same(cx.ty(i)?))
    };
    (0..cx.operands.len()).map(result).collect()
}
