//! Updates at dynamic indices.

use shardc_ir::{DType, OpKind, ReductionKind, RegionId, ScatterSpec, reducer};

use super::index::{from_last, integers, place};
use crate::error::ErrorKind;
use crate::graph::Maker;
use crate::{RegionBody, Tensor, axes, number};

impl<'g> Tensor<'g> {
    /// Returns the tensor with the slices at `indices` along dimension `axis` replaced by `updates`, in which the dimensions of `indices`
    /// replace dimension `axis`: `x.at[indices].set(updates)`. Negative indices count from the last; other out-of-bounds indices have no
    /// effect. If several updates apply to one slice, one of the updates takes effect; it is unspecified which.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// let u = g.parameter("u", [4, 3], F32);
    /// assert_eq!(x.at_set(i, u, 0).shape(), [8, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not match, `indices` are not of an integer type, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn at_set(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.update_at(indices.into(), updates.into(), axis, None)
    }

    /// Returns the tensor with `updates` added to the slices at `indices` along dimension `axis`: `x.at[indices].add(updates)`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// let u = g.parameter("u", [4, 3], F32);
    /// assert_eq!(x.at_add(i, u, 0).shape(), [8, 3]);
    /// ```
    ///
    /// Reports the errors of [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_add(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.update_at(indices.into(), updates.into(), axis, Some(ReductionKind::Add))
    }

    /// Returns the tensor with the slices at `indices` along dimension `axis` multiplied by `updates`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// let u = g.parameter("u", [4, 3], F32);
    /// assert_eq!(x.at_mul(i, u, 0).shape(), [8, 3]);
    /// ```
    ///
    /// Reports the errors of [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_mul(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.update_at(indices.into(), updates.into(), axis, Some(ReductionKind::Mul))
    }

    /// Returns the tensor with the slices at `indices` along dimension `axis` replaced by the elementwise maximum of the slices and
    /// `updates`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// let u = g.parameter("u", [4, 3], F32);
    /// assert_eq!(x.at_max(i, u, 0).shape(), [8, 3]);
    /// ```
    ///
    /// Reports the errors of [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_max(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.update_at(indices.into(), updates.into(), axis, Some(ReductionKind::Max))
    }

    /// Returns the tensor with the slices at `indices` along dimension `axis` replaced by the elementwise minimum of the slices and
    /// `updates`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// let u = g.parameter("u", [4, 3], F32);
    /// assert_eq!(x.at_min(i, u, 0).shape(), [8, 3]);
    /// ```
    ///
    /// Reports the errors of [`at_set`](Tensor::at_set).
    #[must_use]
    #[track_caller]
    pub fn at_min(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        axis: i64,
    ) -> Tensor<'g> {
        self.update_at(indices.into(), updates.into(), axis, Some(ReductionKind::Min))
    }

    #[track_caller]
    fn update_at(
        self,
        indices: Tensor<'g>,
        updates: Tensor<'g>,
        axis: i64,
        kind: Option<ReductionKind>,
    ) -> Tensor<'g> {
        let indices = from_last(indices, axes::size(&self.shape(), axis));
        self.update_inside(indices, updates, axis, kind)
    }

    /// Updates slices at non-negative `indices`: combines them with `updates` by `kind`, or replaces them if `kind` is `None`.
    #[track_caller]
    fn update_inside(
        self,
        indices: Tensor<'g>,
        updates: Tensor<'g>,
        axis: i64,
        kind: Option<ReductionKind>,
    ) -> Tensor<'g> {
        self.graph().make(&[self, indices, updates], |m, values| {
            let (shape, rank) = (m.shape_of(values[0]), m.shape_of(values[1]).len());
            let dim = axes::one("update", axis, &shape)?;
            integers(m, values[1])?;
            let (left, right) = (m.dtype_of(values[0]), m.dtype_of(values[2]));
            if left != right {
                return Err(ErrorKind::DTypes { op: "update", left, right });
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

    /// Computes StableHLO's `scatter`: updates slices at the start indices in `indices`. `combine` takes the current and the update
    /// element, two scalars. Out-of-bounds updates have no effect.
    ///
    /// Reports an error if the dimensions do not match, `indices` are not of an integer type, or `combine` does not return a scalar of the
    /// element type.
    #[must_use]
    #[track_caller]
    pub fn scatter(
        self,
        indices: impl Into<Tensor<'g>>,
        updates: impl Into<Tensor<'g>>,
        spec: &ScatterSpec,
        combine: impl FnOnce(Tensor<'g>, Tensor<'g>) -> Tensor<'g>,
    ) -> Tensor<'g> {
        let region = RegionBody::of_scalars(2, self.dtype(), |args| vec![combine(args[0], args[1])]);
        let kind = OpKind::Scatter(Box::new(spec.clone()));
        self.graph().op_with_regions(kind, &[self, indices.into(), updates.into()], 1, vec![region])[0]
    }
}

macro_rules! segments {
    ($($(#[$doc:meta])* $name:ident => $kind:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            /// Reports an error if `ids` differs in the first dimension or is not of an integer type, or if the element type of the tensor
            /// does not support the reduction.
            #[must_use]
            #[track_caller]
            pub fn $name(self, ids: impl Into<Tensor<'g>>, count: i64) -> Tensor<'g> {
                self.segments(stringify!($name), ReductionKind::$kind, ids.into(), count)
            })*
        }
    };
}

segments! {
    /// Segment sum: sums the slices along the first dimension with equal `ids`, for each id below `count`; slices with other ids are
    /// ignored.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [4, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.segment_sum(i, 8).shape(), [8, 3]);
    /// ```
    segment_sum => Add,
    /// Segment product: multiplies the slices along the first dimension with equal `ids`, for each id below `count`; slices with other ids
    /// are ignored.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [4, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.segment_prod(i, 8).shape(), [8, 3]);
    /// ```
    segment_prod => Mul,
    /// Segment maximum of the slices along the first dimension with equal `ids`, for each id below `count`; slices with other ids are
    /// ignored.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [4, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.segment_max(i, 8).shape(), [8, 3]);
    /// ```
    segment_max => Max,
    /// Segment minimum of the slices along the first dimension with equal `ids`, for each id below `count`; slices with other ids are
    /// ignored.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [4, 3], F32);
    /// let i = g.parameter("i", [4], DType::I32);
    /// assert_eq!(x.segment_min(i, 8).shape(), [8, 3]);
    /// ```
    segment_min => Min,
}

impl<'g> Tensor<'g> {
    #[track_caller]
    fn segments(self, op: &'static str, kind: ReductionKind, ids: Tensor<'g>, count: i64) -> Tensor<'g> {
        let accumulates = matches!(kind, ReductionKind::Add | ReductionKind::Mul);
        let wide = if accumulates { self.wide() } else { self };
        let none = self.graph().make(&[wide], |m, values| {
            let (mut shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let dim = axes::one(op, 0, &shape)?;
            shape[dim] = count;
            crate::graph::check_shape(&shape)?;
            let start = number::start(kind, dtype);
            let Some(start) = start else {
                return Err(ErrorKind::Operands(format!("{op} does not support the element type {dtype}")));
            };
            m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &shape, dtype)
        });
        none.update_inside(ids, wide, 0, Some(kind)).to(self.dtype())
    }
}

/// Creates a region that returns the second of two scalars.
fn second(m: &mut Maker<'_>, dtype: DType) -> RegionId {
    let module = &mut m.state.module;
    let ty = module.types.tensor(&[], dtype);
    let region = module.add_region(&[ty, ty]);
    let update = module.regions[region].args[1];
    let end = module.add_op(OpKind::Return, &[update], &[], &[]);
    module.push_op(region, end);
    region
}
