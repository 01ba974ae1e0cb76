//! Reductions over dimensions.

use shardc_ir::{DType, OpKind, ReductionKind, ValueId, reducer};

use crate::axes::Axes;
use crate::error::ErrorKind;
use crate::graph::{KindResult, Maker};
use crate::{Tensor, number};

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $keep:ident $dtype:ident => $kind:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::", stringify!($dtype), ");\n",
                "assert_eq!(x.", stringify!($name), "(1).shape(), [2]);\n```"
            )]
            ///
            /// The dimensions are removed.
            ///
            /// Reports an error if the tensor lacks a dimension, a dimension is repeated, or the element type does not support the
            /// reduction.
            #[must_use]
            #[track_caller]
            pub fn $name(self, axes: impl Into<Axes>) -> Tensor<'g> {
                let axes = axes.into();
                self.graph().make(&[self], |m, values| {
                    reduce(m, stringify!($name), ReductionKind::$kind, values[0], &axes, false)
                })
            }

            $(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::", stringify!($dtype), ");\n",
                "assert_eq!(x.", stringify!($keep), "(1).shape(), [2, 1]);\n```"
            )]
            ///
            /// The dimensions are kept with size one.
            ///
            /// Reports the errors of the method without `_keepdims`.
            #[must_use]
            #[track_caller]
            pub fn $keep(self, axes: impl Into<Axes>) -> Tensor<'g> {
                let axes = axes.into();
                self.graph().make(&[self], |m, values| {
                    reduce(m, stringify!($name), ReductionKind::$kind, values[0], &axes, true)
                })
            })*
        }
    };
}

reductions! {
    /// Sum over dimensions. 16-bit floats are summed in 32 bits.
    sum sum_keepdims F32 => Add,
    /// Product over dimensions. 16-bit floats are multiplied in 32 bits.
    prod prod_keepdims F32 => Mul,
    /// Maximum over dimensions.
    amax amax_keepdims F32 => Max,
    /// Minimum over dimensions.
    amin amin_keepdims F32 => Min,
    /// Whether all elements along dimensions are true.
    all all_keepdims I1 => And,
    /// Whether any element along dimensions is true.
    any any_keepdims I1 => Or,
}

impl<'g> Tensor<'g> {
    /// Returns the mean over dimensions, which are removed. The mean of 16-bit floats is computed in 32 bits.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.mean(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn mean(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.mean_of(axes.into(), false)
    }

    /// Returns the mean over dimensions, which are kept with size one.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.mean_keepdims(1).shape(), [2, 1]);
    /// ```
    ///
    /// Reports the errors of the method without `_keepdims`.
    #[must_use]
    #[track_caller]
    pub fn mean_keepdims(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.mean_of(axes.into(), true)
    }

    /// Returns the variance over dimensions, which are removed: the mean squared deviation from the mean. The variance of 16-bit floats is
    /// computed in 32 bits.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.var(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn var(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let (axes, wide) = (axes.into(), self.wide());
        (wide - wide.mean_keepdims(axes.clone())).square().mean(axes).to(self.dtype())
    }

    /// Log-sum-exp over dimensions, which are removed; computed without intermediate overflow.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.logsumexp(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn logsumexp(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        let largest = self.amax_keepdims(axes.clone()).stop_gradient();
        let largest = largest.is_finite().select(largest, 0);
        let sum = (self - largest).exp().sum(axes.clone());
        let kept = sum.shape();
        sum.log() + largest.reshape(kept)
    }

    #[track_caller]
    fn mean_of(self, axes: Axes, keep: bool) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            if !dtype.is_float() {
                return Err(ErrorKind::Operands(format!("mean expects floats, got {dtype}")));
            }
            let count: i64 = axes.sorted("mean", &shape)?.iter().map(|&d| shape[d]).product();
            // The mean may fit in a 16-bit float although the sum does not.
            let wide = summed_in(dtype);
            let value = converted(m, values[0], wide)?;
            let sum = reduce(m, "mean", ReductionKind::Add, value, &axes, keep)?;
            let shape = m.shape_of(sum);
            let count = m.filled(count as f64, &shape, wide)?;
            let mean = m.infer(OpKind::Binary(shardc_ir::BinaryOp::Divide), &[sum, count], &[])?;
            converted(m, mean, dtype)
        })
    }

    /// Returns the tensor converted to its accumulation type.
    #[track_caller]
    pub(crate) fn wide(self) -> Tensor<'g> {
        self.to(summed_in(self.dtype()))
    }
}

/// Returns the accumulation type of an element type: sums of thousands of 16-bit floats would stagnate or overflow.
fn summed_in(dtype: DType) -> DType {
    if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype }
}

fn converted(m: &mut Maker<'_>, value: ValueId, dtype: DType) -> KindResult<ValueId> {
    if m.dtype_of(value) == dtype {
        return Ok(value);
    }
    let shape = m.shape_of(value);
    m.typed(OpKind::Convert, &[value], &shape, dtype)
}

/// Reduces over dimensions, which are removed or kept with size one.
pub(crate) fn reduce(
    m: &mut Maker<'_>,
    op: &'static str,
    kind: ReductionKind,
    value: ValueId,
    axes: &Axes,
    keep: bool,
) -> KindResult<ValueId> {
    let (shape, dtype) = (m.shape_of(value), m.dtype_of(value));
    let dims = axes.sorted(op, &shape)?;
    let accumulates = matches!(kind, ReductionKind::Add | ReductionKind::Mul);
    if dtype == DType::I1 && accumulates {
        let text =
            format!("{op} does not support i1: convert the operand with .to(DType::I32), or use any or all");
        return Err(ErrorKind::Operands(text));
    }
    let wide = if accumulates { summed_in(dtype) } else { dtype };
    let Some(start) = number::start(kind, wide) else {
        return Err(ErrorKind::Operands(format!("{op} does not support the element type {dtype}")));
    };
    let value = converted(m, value, wide)?;
    let start = m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &[], wide)?;
    let region = reducer::reducer(&mut m.state.module, kind, wide);
    let list = dims.iter().map(|&d| d as u32).collect();
    let reduced = m.infer(OpKind::Reduce { dims: list }, &[value, start], &[region])?;
    let reduced = converted(m, reduced, dtype)?;
    if !keep {
        return Ok(reduced);
    }
    let kept: Vec<i64> = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] }).collect();
    m.typed(OpKind::Reshape, &[reduced], &kept, dtype)
}
