//! Slices with dynamic start indices.

use shardc_ir::{OpKind, ValueId};

use crate::axes;
use crate::error::ErrorKind;
use crate::graph::{KindResult, Maker};
use crate::ops::index::wide;
use crate::ops::movement::reshape;
use crate::{IntoShape, Tensor};

impl<'g> Tensor<'g> {
    /// Returns a slice of the given sizes at `start`, one scalar integer per dimension. Starts are clamped so that the slice is in bounds.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let row = g.parameter("row", (), DType::I32);
    /// let zero = g.scalar(0.0, DType::I32);
    /// assert_eq!(x.dynamic_slice(&[row, zero], [2, 3]).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the number of starts or sizes is not the rank, or if a size is larger than the tensor's.
    #[must_use]
    #[track_caller]
    pub fn dynamic_slice(self, start: &[Tensor<'g>], sizes: impl IntoShape) -> Tensor<'g> {
        let sizes = sizes.into_shape();
        let operands: Vec<Tensor<'g>> = std::iter::once(self).chain(start.iter().copied()).collect();
        self.graph().make(&operands, |m, values| {
            m.infer(OpKind::DynamicSlice { sizes: sizes.into_iter().collect() }, values, &[])
        })
    }

    /// Returns the tensor with a slice at `start`, one scalar integer per dimension, replaced by `update`. Starts are clamped so that the
    /// slice is in bounds.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let update = g.parameter("update", [2, 3], F32);
    /// let row = g.parameter("row", (), DType::I32);
    /// let zero = g.scalar(0.0, DType::I32);
    /// assert_eq!(x.dynamic_update(update, &[row, zero]).shape(), [8, 3]);
    /// ```
    ///
    /// Reports an error if the number of starts is not the rank, or if `update` is larger or has a different element type.
    #[must_use]
    #[track_caller]
    pub fn dynamic_update(self, update: impl Into<Tensor<'g>>, start: &[Tensor<'g>]) -> Tensor<'g> {
        let operands: Vec<Tensor<'g>> =
            [self, update.into()].into_iter().chain(start.iter().copied()).collect();
        self.graph().make(&operands, |m, values| m.infer(OpKind::DynamicUpdateSlice, values, &[]))
    }

    /// Returns the slice at `index`, a scalar integer, along dimension `axis`, and removes that dimension. The index is clamped to the
    /// bounds.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let row = g.parameter("row", (), DType::I32);
    /// assert_eq!(x.dynamic_index(0, row).shape(), [3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or `index` is not a scalar integer.
    #[must_use]
    #[track_caller]
    pub fn dynamic_index(self, axis: i64, index: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let index = index.into();
        let is_index = !index.is_poisoned() && index.dtype().is_integer();
        let index = if is_index { wide(index, axes::size(&self.shape(), axis)) } else { index };
        self.graph().make(&[self, index], |m, values| {
            let shape = m.shape_of(values[0]);
            let dim = axes::one("dynamic_index", axis, &shape)?;
            let mut sizes = shape.clone();
            sizes[dim] = 1;
            let operands = start_along(m, values[0], values[1], dim, shape.len())?;
            let one = m.infer(OpKind::DynamicSlice { sizes: sizes.into_iter().collect() }, &operands, &[])?;
            let rest: Vec<i64> = (0..shape.len()).filter(|&d| d != dim).map(|d| shape[d]).collect();
            reshape(m, one, &rest)
        })
    }
}

/// Returns the operands of a dynamic slice that starts at `index` along dimension `dim`.
fn start_along(
    m: &mut Maker<'_>,
    value: ValueId,
    index: ValueId,
    dim: usize,
    rank: usize,
) -> KindResult<Vec<ValueId>> {
    let dtype = m.dtype_of(index);
    if !m.shape_of(index).is_empty() || !dtype.is_integer() {
        let shape = m.shape_of(index);
        return Err(ErrorKind::Operands(format!("an index must be a scalar integer, got {dtype}{shape:?}")));
    }
    let zero = m.filled(0.0, &[], dtype)?;
    let start = (0..rank).map(|d| if d == dim { index } else { zero });
    Ok(std::iter::once(value).chain(start).collect())
}
