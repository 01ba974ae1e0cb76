//! Elements at numbers that the program computes: `take`, and updates at them.

use shardc_ir::{DType, DimList, GatherSpec, OpKind, ReductionKind, ScatterSpec, ValueId, reducer};

use crate::error::{ErrorKind, KindResult};
use crate::graph::Maker;
use crate::{Tensor, axes};

/// What is done about numbers outside of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfBounds {
    /// They count as the nearest that is inside. Nothing is compared: it costs nothing.
    #[default]
    Clip,
    /// What is taken there is NaN, or the smallest whole number (`jax.numpy`'s default for reading).
    Fill,
}

impl<'g> Tensor<'g> {
    /// The slices with these numbers along dimension `axis`, which becomes the dimensions of `indices`: `numpy.take`. Numbers
    /// outside count as the nearest inside.
    ///
    /// Reported: the tensor lacks the dimension, or `indices` are no integers.
    #[must_use]
    #[track_caller]
    pub fn take(self, indices: impl Into<Tensor<'g>>, axis: i64) -> Tensor<'g> {
        self.take_with(indices, axis, OutOfBounds::Clip)
    }

    /// [`take`](Tensor::take), and what is done about numbers outside.
    ///
    /// Reported: the tensor lacks the dimension, or `indices` are no integers.
    #[must_use]
    #[track_caller]
    pub fn take_with(
        self,
        indices: impl Into<Tensor<'g>>,
        axis: i64,
        out_of_bounds: OutOfBounds,
    ) -> Tensor<'g> {
        let indices = indices.into();
        let taken = self.graph().make(&[self, indices], |m, values| {
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
        if out_of_bounds == OutOfBounds::Clip || taken.is_poisoned() {
            return taken;
        }
        let inside = indices.ge(0) & indices.lt(self.size(axis));
        let dim = if axis < 0 { axis + self.rank() as i64 } else { axis };
        let places: Vec<i64> = (dim..dim + indices.rank() as i64).collect();
        let inside = inside.broadcast_in_dim(taken.shape(), &places);
        let other = if taken.dtype().is_float() { f64::NAN } else { lowest(taken.dtype()) };
        inside.select(taken, other)
    }

    /// For each number in `indices`, the element at that number along dimension `axis`, and at its own place along the others:
    /// `numpy.take_along_axis`. Numbers outside count as the nearest inside.
    ///
    /// Reported: the tensor lacks the dimension, the others differ in size, or `indices` are no integers.
    #[must_use]
    #[track_caller]
    pub fn take_along_axis(self, indices: impl Into<Tensor<'g>>, axis: i64) -> Tensor<'g> {
        self.graph().make(&[self, indices.into()], |m, values| {
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
        })
    }

    /// The tensor with the slices of these numbers along dimension `axis` replaced by `updates`, which has the dimensions of
    /// `indices` in the place of that one: `x.at[indices].set(updates)`. Numbers outside change nothing; of several updates of
    /// one slice any may win.
    ///
    /// Reported: the shapes do not go together so, `indices` are no integers, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn at_set(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.scatter(indices.into(), updates.into(), axis, None)
    }

    /// The tensor with `updates` added to the slices of these numbers along dimension `axis`: `x.at[indices].add(updates)`.
    ///
    /// Reported: as for [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_add(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.scatter(indices.into(), updates.into(), axis, Some(ReductionKind::Add))
    }

    /// The tensor with the slices of these numbers along dimension `axis` multiplied by `updates`.
    ///
    /// Reported: as for [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_mul(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.scatter(indices.into(), updates.into(), axis, Some(ReductionKind::Mul))
    }

    /// The tensor with the larger of the slices of these numbers along dimension `axis` and `updates`.
    ///
    /// Reported: as for [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_max(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.scatter(indices.into(), updates.into(), axis, Some(ReductionKind::Max))
    }

    /// The tensor with the smaller of the slices of these numbers along dimension `axis` and `updates`.
    ///
    /// Reported: as for [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_min(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.scatter(indices.into(), updates.into(), axis, Some(ReductionKind::Min))
    }

    #[track_caller]
    fn scatter(
        self,
        indices: Tensor<'g>,
        updates: Tensor<'g>,
        axis: i64,
        kind: Option<ReductionKind>,
    ) -> Tensor<'g> {
        self.graph().make(&[self, indices, updates], |m, values| {
            let (shape, rank) = (m.shape_of(values[0]), m.shape_of(values[1]).len());
            let dim = axes::one("an update", axis, &shape)?;
            integers(m, values[1])?;
            let (left, right) = (m.dtype_of(values[0]), m.dtype_of(values[2]));
            if left != right {
                return Err(ErrorKind::DTypes { op: "an update", left, right });
            }
            let spec = ScatterSpec {
                update_window_dims: (0..shape.len() - 1).map(|d| place(d, dim, rank)).collect(),
                inserted_window_dims: [dim as u32].into_iter().collect(),
                scatter_dims_to_operand_dims: [dim as u32].into_iter().collect(),
                index_vector_dim: rank as u32,
                ..ScatterSpec::default()
            };
            let region = match kind {
                Some(kind) => reducer::reducer(&mut m.state.module, kind, left),
                None => second(m, left),
            };
            m.infer(OpKind::Scatter(Box::new(spec)), values, &[region])
        })
    }
}

/// Where dimension `d` of a slice, without the dimension `dim`, is in a result that has `rank` dimensions in its place.
fn place(d: usize, dim: usize, rank: usize) -> u32 {
    (if d < dim { d } else { d + rank }) as u32
}

/// Refuses what no element can be numbered by.
fn integers(m: &Maker<'_>, indices: ValueId) -> KindResult<()> {
    match m.dtype_of(indices) {
        dtype if dtype.is_integer() => Ok(()),
        dtype => Err(ErrorKind::Operands(format!("indices are integers, not {dtype}"))),
    }
}

/// A region that takes the second of two scalars.
fn second(m: &mut Maker<'_>, dtype: DType) -> shardc_ir::RegionId {
    let module = &mut m.state.module;
    let ty = module.types.tensor(&[], dtype);
    let region = module.add_region(&[ty, ty]);
    let update = module.regions[region].args[1];
    let end = module.add_op(OpKind::Return, &[update], &[], &[]);
    module.push_op(region, end);
    region
}

/// The smallest number of a type of integers.
fn lowest(dtype: DType) -> f64 {
    match dtype.class() {
        shardc_ir::DTypeClass::Signed => -2f64.powi(dtype.bits() as i32 - 1),
        _ => 0.0,
    }
}
