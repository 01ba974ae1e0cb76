//! Reductions and sorting.

use super::{Ctx, Res, Ty, Types, distinct_dims, ensure, shape_fits, shape_text, without};
use crate::{DimList, TensorType};

/// Operands are `n` tensors of one shape, then `n` scalars of their element types (the body may work in a wider
/// one). Returns `n`.
pub(crate) fn pairs(cx: &Ctx<'_>) -> Res<usize> {
    let count = cx.operands.len();
    ensure!(
        count >= 2 && count.is_multiple_of(2),
        "{} takes as many inputs as initial values, it has {count} operands",
        cx.name()
    );
    let n = count / 2;
    let first = cx.tensor(0)?;
    for i in 0..n {
        let (input, init) = (cx.tensor(i)?, cx.scalar(n + i)?);
        ensure!(
            shape_fits(&input.shape, &first.shape),
            "inputs of {} have different shapes: {} and {}",
            cx.name(),
            shape_text(&first.shape),
            shape_text(&input.shape)
        );
        ensure!(
            input.dtype == init.dtype,
            "{} reduces {input} from an initial value of type {init}",
            cx.name()
        );
    }
    Ok(n)
}

pub(crate) fn reduce(cx: &Ctx<'_>, dims: &DimList) -> Res<Types> {
    let n = pairs(cx)?;
    let first = cx.tensor(0)?;
    distinct_dims(cx.name(), "dimensions", dims, first.rank())?;
    let result = |i: usize| -> Res<Ty> {
        let input = cx.tensor(i)?;
        let dtype = cx.accumulated(0, i, input.dtype)?;
        Ok(Ty::Tensor(TensorType::new(&without(&first.shape, dims), dtype)))
    };
    (0..n).map(result).collect()
}

pub(crate) fn sort(cx: &Ctx<'_>, dim: i64) -> Res<Types> {
    let first = cx.tensor(0)?;
    let rank = first.rank() as i64;
    // A scalar can be sorted along the dimension that it does not have.
    ensure!((-rank.max(1)..rank.max(1)).contains(&dim), "sort along dimension {dim} does not fit {first}");
    let result = |i: usize| -> Res<Ty> {
        let next = cx.tensor(i)?;
        ensure!(shape_fits(&next.shape, &first.shape), "sort of {first} together with {next}");
        Ok(Ty::Same(cx.ty(i)?))
    };
    (0..cx.operands.len()).map(result).collect()
}
