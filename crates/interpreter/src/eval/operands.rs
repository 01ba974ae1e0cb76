//! Operands of operations as sizes, indices and dimension numbers.

use shardc_ir::DType;

use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::moves;
use crate::numbers::Domain;

/// Dimension numbers as indices.
pub(super) fn places(dims: &[u32]) -> Vec<usize> {
    dims.iter().map(|&d| d as usize).collect()
}

/// The elements of an integer array.
pub(super) fn integers<D: Domain>(a: &Array<D>) -> Result<Vec<i64>, Fault> {
    a.to_integers().ok_or_else(|| Fault::Invalid("sizes that are not integers".to_owned()))
}

/// The elements of an integer array as sizes.
pub(super) fn sizes<D: Domain>(a: &Array<D>) -> Result<Dims, Fault> {
    let all: Option<Dims> = integers(a)?.into_iter().map(|n| usize::try_from(n).ok()).collect();
    all.ok_or_else(|| Fault::Invalid("a negative size".to_owned()))
}

/// Scalars as one list.
pub(super) fn scalars<D: Domain>(arrays: &[Array<D>]) -> Result<Vec<i64>, Fault> {
    // An index that is too large for a signed integer is beyond the end of every array.
    let index = |a: &Array<D>| {
        let index = a.to_index()?;
        Ok(if a.dtype() == DType::UI64 && index < 0 { i64::MAX } else { index })
    };
    arrays.iter().map(index).collect()
}

/// Exactly `N` operands.
pub(super) fn all<const N: usize, D: Domain>(operands: &[Array<D>]) -> Result<&[Array<D>; N], Fault> {
    operands.try_into().map_err(|_| Fault::Invalid(format!("not {N} operands")))
}

/// The first operand, and the others.
pub(super) fn split_first<D: Domain>(operands: &[Array<D>]) -> Result<(&Array<D>, &[Array<D>]), Fault> {
    operands.split_first().ok_or_else(|| Fault::Invalid("too few operands".to_owned()))
}

/// `length` elements along a dimension.
pub(super) fn cut<D: Domain>(a: &Array<D>, dim: usize, start: i64, length: i64) -> Result<Array<D>, Fault> {
    let (mut from, mut to): (Vec<i64>, Vec<i64>) = a.dims().iter().map(|&n| (0, n as i64)).unzip();
    let (Some(first), Some(last)) = (from.get_mut(dim), to.get_mut(dim)) else {
        return Fault::invalid("a dimension that does not exist");
    };
    (*first, *last) = (start, start + length);
    moves::slice(a, &from, &to, &vec![1; a.rank()])
}
