//! Checks of the results of broadcasts.

use super::{Ctx, Res, distinct_dims, ensure, size_fits};
use crate::TensorType;

/// Checks that `result` is a broadcast of the operand along these dimensions.
pub(super) fn broadcast_in_dim(cx: &Ctx<'_>, dims: &[u32], result: &TensorType) -> Res<()> {
    let operand = cx.tensor(0)?;
    ensure!(
        dims.len() == operand.rank() && operand.dtype == result.dtype,
        "{} of {operand} along dimensions {dims:?} gives {result}: each operand dimension needs one entry, and the element type must not \
         change",
        cx.name()
    );
    distinct_dims(cx.name(), "dimensions", dims, result.rank())?;
    for (i, &d) in dims.iter().enumerate() {
        let (n, m) = (operand.shape[i], result.shape[d as usize]);
        ensure!(
            n == 1 || size_fits(n, m),
            "{} of {operand} to {result}: operand dimension {i} of size {n} cannot be broadcast to result dimension {d} of size {m}",
            cx.name()
        );
    }
    Ok(())
}
