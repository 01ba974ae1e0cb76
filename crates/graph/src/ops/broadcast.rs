//! Broadcasting (NumPy's rule): dimensions are aligned from the last, and dimensions of size one or missing dimensions are repeated.

use shardc_ir::{DType, OpKind, ValueId};

use crate::error::ErrorKind;
use crate::graph::{KindResult, Maker};
use crate::number;
use crate::operand::Operand;

/// Returns the common shape of two operands.
pub(crate) fn common_shape(op: &'static str, a: &[i64], b: &[i64]) -> KindResult<Vec<i64>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut out = long.to_vec();
    for (to, &from) in out.iter_mut().rev().zip(short.iter().rev()) {
        *to = match (*to, from) {
            (n, m) if n == m => n,
            (1, m) => m,
            (n, 1) => n,
            _ => return Err(ErrorKind::Shapes { op, left: a.to_vec(), right: b.to_vec() }),
        };
    }
    Ok(out)
}

/// Broadcasts a value to a shape, aligned at the last dimensions.
pub(crate) fn broadcast_to(
    m: &mut Maker<'_>,
    op: &'static str,
    value: ValueId,
    shape: &[i64],
) -> KindResult<ValueId> {
    let from = m.shape_of(value);
    if from == shape {
        return Ok(value);
    }
    if common_shape(op, &from, shape)? != shape {
        return Err(ErrorKind::Shapes { op, left: from, right: shape.to_vec() });
    }
    let dims = (shape.len() - from.len()..shape.len()).map(|d| d as u32).collect();
    let dtype = m.dtype_of(value);
    m.typed(OpKind::BroadcastInDim { dims }, &[value], shape, dtype)
}

/// Broadcasts operands to one shape. All tensors must have the same element type; numbers are converted to it.
pub(crate) fn together<const N: usize>(
    m: &mut Maker<'_>,
    op: &'static str,
    operands: &[Operand<'_>; N],
    values: &[ValueId],
) -> KindResult<[ValueId; N]> {
    let mut tensors = values.iter();
    let given: [Option<ValueId>; N] = operands.each_ref().map(|operand| match operand {
        Operand::Tensor(_) => tensors.next().copied(),
        Operand::Number(_) | Operand::Integer(_) => None,
    });
    let mut shape: Option<Vec<i64>> = None;
    let mut dtype: Option<DType> = None;
    for &value in given.iter().flatten() {
        let (of, ty) = (m.shape_of(value), m.dtype_of(value));
        shape = Some(match shape {
            None => of,
            Some(shape) => common_shape(op, &shape, &of)?,
        });
        match dtype {
            Some(left) if left != ty => return Err(ErrorKind::DTypes { op, left, right: ty }),
            _ => dtype = Some(ty),
        }
    }
    let (Some(shape), Some(dtype)) = (shape, dtype) else {
        return Err(ErrorKind::Operands(format!("{op}: at least one operand must be a tensor")));
    };
    let mut out = [None; N];
    for ((out, operand), given) in out.iter_mut().zip(operands).zip(given) {
        *out = Some(match given {
            Some(value) => broadcast_to(m, op, value, &shape)?,
            None => number_of(m, operand, &shape, dtype)?,
        });
    }
    // The loop above has set every element.
    Ok(out.map(|value| value.unwrap_or(values[0])))
}

/// Creates a constant of this shape and element type, filled with the number of `operand`.
pub(crate) fn number_of(
    m: &mut Maker<'_>,
    operand: &Operand<'_>,
    shape: &[i64],
    dtype: DType,
) -> KindResult<ValueId> {
    let bytes = match *operand {
        Operand::Number(number) => number::encode(dtype, number),
        Operand::Integer(number) => number::encode_integer(dtype, number),
        Operand::Tensor(_) => None,
    };
    match bytes {
        Some(bytes) => m.typed(OpKind::Constant(shardc_ir::Dense::splat(&bytes)), &[], shape, dtype),
        None => Err(ErrorKind::Number { number: operand.number().unwrap_or_default(), dtype }),
    }
}
