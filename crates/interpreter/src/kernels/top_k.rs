//! The largest elements of the last dimension, and their indices.

use shardc_ir::DType;

use crate::array::{Array, Dims, each};
use crate::error::Fault;
use crate::numbers::{Domain, Number};

/// Returns the `k` largest elements of each row in descending order, and their indices. Equal elements keep their order.
pub(crate) fn top_k<D: Domain>(a: &Array<D>, k: usize) -> Result<[Array<D>; 2], Fault> {
    let mut dims = Dims::from_slice(a.dims());
    let Some(last) = dims.last_mut() else { return Fault::invalid("the largest elements of a scalar") };
    let width = std::mem::replace(last, k);
    if k > width {
        return Fault::invalid(format!("the {k} largest of {width} elements"));
    }
    let mut positions = Vec::with_capacity(a.len());
    each!(a.data(), v => {
        for (row, elements) in v.chunks_exact(width.max(1)).enumerate() {
            let mut order: Vec<usize> = (0..width).collect();
            order.sort_by(|&i, &j| elements[j].total_order(elements[i]));
            positions.extend(order.into_iter().take(k).map(|at| row * width + at));
        }
    });
    let indices: Vec<i64> = positions.iter().map(|&at| (at % width.max(1)) as i64).collect();
    let values = Array::new(dims.clone(), a.dtype(), a.data().taken(&positions))?;
    Ok([values, Array::from_integers(dims, DType::I32, &indices)?])
}
