//! Indexing with dynamic indices: `take` and related operations.

use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, DTypeClass, DimList, GatherSpec, OpKind, ValueId};

use crate::error::{ErrorKind, KindResult};
use crate::graph::Maker;
use crate::ops::broadcast::common_shape;
use crate::{Tensor, axes};

/// Handling of out-of-bounds indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfBounds {
    /// Clamps to the nearest valid index. StableHLO's `gather` clamps indices, so no comparison is needed.
    #[default]
    Clip,
    /// Negative indices count from the last. Out-of-bounds reads return a fill value: NaN, the smallest signed integer, the largest
    /// unsigned integer, or true. `jax.numpy` reads with this mode by default.
    Fill,
    /// Indices wrap around: index `n` is index 0.
    Wrap,
}

impl<'g> Tensor<'g> {
    /// Returns the slices at `indices` along dimension `axis`, which is replaced by the dimensions of `indices`: `numpy.take`.
    /// Out-of-bounds indices are clamped.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.take(i, 1).shape(), [2, 4]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or `indices` are not of an integer type.
    #[must_use]
    #[track_caller]
    pub fn take(self, indices: impl Into<Tensor<'g>>, axis: i64) -> Tensor<'g> {
        self.take_with(indices, axis, OutOfBounds::Clip)
    }

    /// [`take`](Tensor::take) with a choice of how out-of-bounds indices are handled.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh, OutOfBounds};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.take_with(i, 1, OutOfBounds::Wrap).shape(), [2, 4]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or `indices` are not of an integer type.
    #[must_use]
    #[track_caller]
    pub fn take_with(
        self,
        indices: impl Into<Tensor<'g>>,
        axis: i64,
        out_of_bounds: OutOfBounds,
    ) -> Tensor<'g> {
        let indices = indices.into();
        let n = axes::size(&self.shape(), axis);
        let placed = out_of_bounds.placed(indices, n);
        let taken = self.graph().make(&[self, placed], |m, values| {
            let (shape, rank) = (m.shape_of(values[0]), m.shape_of(values[1]).len());
            let dim = axes::one("take", axis, &shape)?;
            integers(m, values[1])?;
            let mut slice_sizes: Vec<i64> = shape.clone();
            slice_sizes[dim] = 1;
            let spec = GatherSpec {
                offset_dims: (0..shape.len() - 1).map(|d| place(d, dim, rank)).collect(),
                collapsed_slice_dims: [dim as u32].into_iter().collect(),
                start_index_map: [dim as u32].into_iter().collect(),
                index_vector_dim: rank as u32,
                slice_sizes: slice_sizes.into_iter().collect(),
                ..GatherSpec::default()
            };
            m.infer(OpKind::Gather(Box::new(spec)), values, &[])
        });
        if out_of_bounds != OutOfBounds::Fill || taken.is_poisoned() {
            return taken;
        }
        let dim = if axis < 0 { axis + self.rank() as i64 } else { axis };
        let places: Vec<i64> = (dim..dim + indices.rank() as i64).collect();
        let inside = (placed.ge(0) & placed.lt(n)).broadcast_in_dim(taken.shape(), &places);
        inside.select(taken, missing(taken))
    }

    /// Returns, for each index in `indices`, the element at that index along dimension `axis`, and at the position of the index along
    /// the other dimensions: `numpy.take_along_axis`. Out-of-bounds indices are clamped.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let order = x.argsort(1);
    /// assert_eq!(x.take_along_axis(order, 1).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, if the other dimensions differ in size, or if `indices` are not of an integer
    /// type.
    #[must_use]
    #[track_caller]
    pub fn take_along_axis(self, indices: impl Into<Tensor<'g>>, axis: i64) -> Tensor<'g> {
        self.take_along_axis_with(indices, axis, OutOfBounds::Clip)
    }

    /// [`take_along_axis`](Tensor::take_along_axis) with a choice of how out-of-bounds indices are handled.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, OutOfBounds};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let order = x.argsort(1);
    /// assert_eq!(x.take_along_axis_with(order, 1, OutOfBounds::Fill).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, if the other dimensions differ in size, or if `indices` are not of an integer
    /// type.
    #[must_use]
    #[track_caller]
    pub fn take_along_axis_with(
        self,
        indices: impl Into<Tensor<'g>>,
        axis: i64,
        out_of_bounds: OutOfBounds,
    ) -> Tensor<'g> {
        let n = axes::size(&self.shape(), axis);
        let placed = out_of_bounds.placed(indices.into(), n);
        let taken = self.graph().make(&[self, placed], |m, values| {
            let (shape, of) = (m.shape_of(values[0]), m.shape_of(values[1]));
            let dim = axes::one("take_along_axis", axis, &shape)?;
            integers(m, values[1])?;
            let fits = shape.len() == of.len() && (0..of.len()).all(|d| d == dim || shape[d] == of[d]);
            if !fits {
                return Err(ErrorKind::Shapes { op: "take_along_axis", left: shape, right: of });
            }
            let others: DimList = (0..shape.len()).filter(|&d| d != dim).map(|d| d as u32).collect();
            let spec = GatherSpec {
                collapsed_slice_dims: [dim as u32].into_iter().collect(),
                operand_batching_dims: others.clone(),
                start_indices_batching_dims: others,
                start_index_map: [dim as u32].into_iter().collect(),
                index_vector_dim: of.len() as u32,
                slice_sizes: std::iter::repeat_n(1, shape.len()).collect(),
                ..GatherSpec::default()
            };
            m.infer(OpKind::Gather(Box::new(spec)), values, &[])
        });
        if out_of_bounds != OutOfBounds::Fill || taken.is_poisoned() {
            return taken;
        }
        (placed.ge(0) & placed.lt(n)).select(taken, missing(taken))
    }

    /// Returns the elements, or slices, at these indices along the leading dimensions, one index tensor for each: `x[i, j]`. Index tensors
    /// broadcast; their dimensions come first. Out-of-bounds indices are clamped.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.index(&[i, i]).shape(), [4]);
    /// ```
    ///
    /// Reports an error if there are no indices, or more indices than dimensions, or if they do not broadcast, are not of an integer type
    /// or differ in element type.
    #[must_use]
    #[track_caller]
    pub fn index(self, indices: &[Tensor<'g>]) -> Tensor<'g> {
        let Some(indices) = vectors(self, indices) else { return self.graph().poisoned(1)[0] };
        self.graph().make(&[self, indices], |m, values| {
            integers(m, values[1])?;
            let (shape, of) = (m.shape_of(values[0]), m.shape_of(values[1]));
            let (batch, n) = (of.len() - 1, of[of.len() - 1] as usize);
            let numbered = || (0..n as u32).collect::<DimList>();
            let spec = GatherSpec {
                offset_dims: (batch..batch + shape.len() - n).map(|d| d as u32).collect(),
                collapsed_slice_dims: numbered(),
                start_index_map: numbered(),
                index_vector_dim: batch as u32,
                slice_sizes: (0..shape.len()).map(|d| if d < n { 1 } else { shape[d] }).collect(),
                ..GatherSpec::default()
            };
            m.infer(OpKind::Gather(Box::new(spec)), values, &[])
        })
    }

    /// Computes StableHLO's `gather`: returns slices at the start indices in `indices`, which are clamped so that the slices are in
    /// bounds.
    ///
    /// Reports an error if the dimensions do not match, or `indices` are not of an integer type.
    #[must_use]
    #[track_caller]
    pub fn gather(self, indices: impl Into<Tensor<'g>>, spec: &GatherSpec) -> Tensor<'g> {
        self.graph().make(&[self, indices.into()], |m, values| {
            integers(m, values[1])?;
            m.infer(OpKind::Gather(Box::new(spec.clone())), values, &[])
        })
    }
}

impl OutOfBounds {
    /// Converts indices into a dimension of size `n` as this mode specifies: `Fill` counts negative indices from the last, `Wrap`
    /// takes the remainder of division by `n`.
    #[track_caller]
    fn placed<'g>(self, indices: Tensor<'g>, n: i64) -> Tensor<'g> {
        if indices.is_poisoned() || !indices.dtype().is_integer() {
            return indices;
        }
        // XLA clamps indices in their element type, which may be too narrow to represent the last valid index.
        let indices = wide(indices, n);
        match self {
            OutOfBounds::Clip => indices,
            OutOfBounds::Fill => from_last(indices, n),
            OutOfBounds::Wrap => indices.modulo(n),
        }
    }
}

/// Converts the indices to `i32` if their element type cannot represent `n`.
#[track_caller]
pub(super) fn wide(indices: Tensor<'_>, n: i64) -> Tensor<'_> {
    match crate::number::encode_integer(indices.dtype(), n) {
        Some(_) => indices,
        None => indices.to(DType::I32),
    }
}

/// Adds `n`, the dimension size, to negative indices, which count from the last element.
#[track_caller]
pub(super) fn from_last(indices: Tensor<'_>, n: i64) -> Tensor<'_> {
    if indices.is_poisoned() || indices.dtype().class() != DTypeClass::Signed {
        return indices;
    }
    let indices = wide(indices, n);
    indices.lt(0).select(indices + n, indices)
}

/// Returns the fill value of out-of-bounds reads, a scalar of the element type of `like`: see [`OutOfBounds::Fill`].
#[track_caller]
fn missing(like: Tensor<'_>) -> Tensor<'_> {
    let (g, dtype) = (like.graph(), like.dtype());
    match dtype.class() {
        DTypeClass::Float | DTypeClass::Complex => g.scalar(f64::NAN, dtype),
        DTypeClass::Signed => g.scalar(-power_of_two(dtype.bits() as i32 - 1), dtype),
        DTypeClass::Unsigned | DTypeClass::Bool => !g.scalar(0.0, dtype),
    }
}

/// Combines indices along several dimensions into index vectors along a new last dimension; `None` after an error.
#[track_caller]
pub(super) fn vectors<'g>(of: Tensor<'g>, indices: &[Tensor<'g>]) -> Option<Tensor<'g>> {
    let g = of.graph();
    if of.is_poisoned() || indices.iter().any(|index| index.is_poisoned()) {
        return None;
    }
    if indices.is_empty() || indices.len() > of.rank() {
        let text = format!("got {} index tensors for a tensor of shape {:?}", indices.len(), of.shape());
        g.report(&[of], ErrorKind::Operands(text));
        return None;
    }
    let mut shape = Vec::new();
    for index in indices {
        match common_shape("index", &shape, &index.shape()) {
            Ok(common) => shape = common,
            Err(kind) => {
                g.report(indices, kind);
                return None;
            }
        }
    }
    let parts: Vec<Tensor<'g>> = indices.iter().map(|index| index.broadcast_to(&shape)).collect();
    Some(g.stack(&parts, -1)).filter(|stacked| !stacked.is_poisoned())
}

/// Returns the position of operand dimension `d` in a result in which `rank` dimensions replace dimension `dim`.
pub(super) fn place(d: usize, dim: usize, rank: usize) -> u32 {
    (if d < dim { d } else { d + rank }) as u32
}

/// Rejects indices that are not integers.
pub(super) fn integers(m: &Maker<'_>, indices: ValueId) -> KindResult<()> {
    match m.dtype_of(indices) {
        dtype if dtype.is_integer() => Ok(()),
        dtype => Err(ErrorKind::Operands(format!("indices must be integers, got {dtype}"))),
    }
}
