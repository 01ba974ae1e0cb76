//! `dot_general` and `ragged_dot`, as batched products of matrices.
//!
//! Operands are converted to the result's element type. Sums of floats narrower than `f32` are accumulated in `f32` and rounded once, as
//! the specification allows.

use shardc_ir::DType;

use super::convert::convert;
use super::matmul::{Sizes, batched};
use super::moves::transpose;
use crate::array::{Array, Dims, zip};
use crate::error::Fault;
use crate::numbers::Domain;

/// The roles of an operand's dimensions.
#[derive(Clone, Debug)]
pub(crate) struct Side<'s> {
    pub(crate) batch: &'s [u32],
    pub(crate) contract: &'s [u32],
}

impl Side<'_> {
    /// The dimensions that are neither batching nor contracting.
    fn free(&self, rank: usize) -> Vec<usize> {
        let is_free = |d: &usize| !self.batch.contains(&(*d as u32)) && !self.contract.contains(&(*d as u32));
        (0..rank).filter(is_free).collect()
    }
}

fn places(dims: &[u32]) -> impl Iterator<Item = usize> + '_ {
    dims.iter().map(|&d| d as usize)
}

fn size<D: Domain>(a: &Array<D>, dims: impl Iterator<Item = usize>) -> Result<(Dims, usize), Fault> {
    let mut sizes = Dims::new();
    for d in dims {
        let Some(&n) = a.dims().get(d) else { return Fault::invalid("a dimension that does not exist") };
        sizes.push(n);
    }
    let count = crate::array::count(&sizes)?;
    Ok((sizes, count))
}

/// The contraction of two arrays. Result dimensions: batching, left free, right free.
pub(crate) fn dot_general<D: Domain>(
    a: &Array<D>,
    b: &Array<D>,
    left: &Side<'_>,
    right: &Side<'_>,
    dtype: DType,
) -> Result<Array<D>, Fault> {
    let (a, b) = (convert(a, dtype)?, convert(b, dtype)?);
    let (left_free, right_free) = (left.free(a.rank()), right.free(b.rank()));
    let (batch_sizes, batch) = size(&a, places(left.batch))?;
    let (contract_sizes, k) = size(&a, places(left.contract))?;
    let (left_sizes, m) = size(&a, left_free.iter().copied())?;
    let (right_sizes, n) = size(&b, right_free.iter().copied())?;
    if size(&b, places(right.batch))?.0 != batch_sizes
        || size(&b, places(right.contract))?.0 != contract_sizes
    {
        return Fault::invalid(format!("{:?} and {:?} cannot be contracted", a.dims(), b.dims()));
    }
    let order: Vec<usize> =
        places(left.batch).chain(left_free.iter().copied()).chain(places(left.contract)).collect();
    let a = transpose(&a, &order)?;
    let order: Vec<usize> =
        places(right.batch).chain(places(right.contract)).chain(right_free.iter().copied()).collect();
    let b = transpose(&b, &order)?;
    let data = zip!(a.data(), b.data(), (x, y) => batched(x, y, batch, Sizes { m, k, n })?);
    Array::fitted(batch_sizes.into_iter().chain(left_sizes).chain(right_sizes).collect(), dtype, data)
}
