//! Reductions with a known operation.

use shardc_ir::{BinaryOp, DType};

use super::moves::transpose;
use crate::array::{Array, Dims, count, reserve, zip};
use crate::error::Fault;
use crate::numbers::{Domain, Number};

/// A combination of two elements.
#[derive(Clone, Copy)]
enum Combine {
    Plus,
    Minus,
    Times,
    Larger,
    Smaller,
}

/// How `op` combines elements of this type; `None` if the elements must be combined by the operation itself, for example because each
/// intermediate result is rounded.
fn combination(op: BinaryOp, dtype: DType) -> Option<Combine> {
    let is_bool = dtype == DType::I1;
    let is_rounded = (dtype.is_float() && !matches!(dtype, DType::F32 | DType::F64)) || dtype.bits() < 8;
    match op {
        BinaryOp::Add if is_bool => Some(Combine::Larger),
        BinaryOp::Multiply if is_bool => Some(Combine::Smaller),
        BinaryOp::Add if !is_rounded => Some(Combine::Plus),
        BinaryOp::Multiply if !is_rounded => Some(Combine::Times),
        BinaryOp::Maximum => Some(Combine::Larger),
        BinaryOp::Minimum => Some(Combine::Smaller),
        BinaryOp::Or if is_bool => Some(Combine::Larger),
        BinaryOp::And if is_bool => Some(Combine::Smaller),
        BinaryOp::Xor if is_bool => Some(Combine::Minus),
        _ => None,
    }
}

/// The dimensions that are not in `dims`.
pub(crate) fn kept(rank: usize, dims: &[usize]) -> Vec<usize> {
    (0..rank).filter(|d| !dims.contains(d)).collect()
}

/// Reduces dimensions with an element-wise operation; `None` if the operation has no fast form.
pub(crate) fn reduce<D: Domain>(
    a: &Array<D>,
    init: &Array<D>,
    dims: &[usize],
    op: BinaryOp,
) -> Option<Result<Array<D>, Fault>> {
    let how = combination(op, a.dtype())?;
    Some(fold(a, init, dims, how))
}

fn fold<D: Domain>(a: &Array<D>, init: &Array<D>, dims: &[usize], how: Combine) -> Result<Array<D>, Fault> {
    if init.len() != 1 {
        return Fault::invalid("an initial value that is not a scalar");
    }
    let kept = kept(a.rank(), dims);
    let out_dims: Dims = kept.iter().map(|&d| a.dims()[d]).collect();
    let len = count(&out_dims)?;
    // Leading dimensions are reduced row by row; otherwise the reduced dimensions become the last ones.
    let is_leading = dims.iter().all(|&d| d < dims.len());
    let ordered = if is_leading {
        a.clone()
    } else {
        let order: Vec<usize> = kept.iter().chain(dims).copied().collect();
        transpose(a, &order)?
    };
    let data = zip!(ordered.data(), init.data(), (x, y) => {
        match how {
            Combine::Plus => lines(x, y[0], len, is_leading, Number::plus)?,
            Combine::Minus => lines(x, y[0], len, is_leading, Number::minus)?,
            Combine::Times => lines(x, y[0], len, is_leading, Number::times)?,
            Combine::Larger => lines(x, y[0], len, is_leading, Number::larger)?,
            Combine::Smaller => lines(x, y[0], len, is_leading, Number::smaller)?,
        }
    });
    Array::new(out_dims, a.dtype(), data)
}

/// Folds a matrix along its rows, or along its columns, to `len` elements.
fn lines<T: Copy>(
    values: &[T],
    init: T,
    len: usize,
    along_columns: bool,
    f: impl Fn(T, T) -> T,
) -> Result<Vec<T>, Fault> {
    let mut out = reserve(len)?;
    out.resize(len, init);
    if len == 0 {
        return Ok(out);
    }
    if along_columns {
        for row in values.chunks_exact(len) {
            for (out, &value) in out.iter_mut().zip(row) {
                *out = f(*out, value);
            }
        }
    } else if values.len() >= len {
        for (out, row) in out.iter_mut().zip(values.chunks_exact(values.len() / len)) {
            *out = row.iter().fold(*out, |sum, &value| f(sum, value));
        }
    }
    Ok(out)
}
