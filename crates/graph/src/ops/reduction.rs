//! Reductions over dimensions.

use shardc_ir::{OpKind, ReductionKind, ValueId, reducer};

use crate::axes::Axes;
use crate::error::ErrorKind;
use crate::graph::{KindResult, Maker};
use crate::{Tensor, number};

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $keep:ident => $kind:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            /// The dimensions vanish.
            ///
            /// Reported: the tensor lacks a dimension, one is named twice, or its elements have no such reduction.
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
            /// The dimensions stay, with size one.
            ///
            /// Reported: as without them.
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
    /// Sums over dimensions.
    sum sum_keepdims => Add,
    /// Multiplies over dimensions.
    prod prod_keepdims => Mul,
    /// The largest element along dimensions.
    amax amax_keepdims => Max,
    /// The smallest element along dimensions.
    amin amin_keepdims => Min,
    /// Whether all truth values along dimensions hold.
    all all_keepdims => And,
    /// Whether any truth value along dimensions holds.
    any any_keepdims => Or,
}

impl<'g> Tensor<'g> {
    /// The mean over dimensions, which vanish.
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn mean(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.mean_of(axes.into(), false)
    }

    /// The mean over dimensions, which stay, with size one.
    ///
    /// Reported: as without them.
    #[must_use]
    #[track_caller]
    pub fn mean_keepdims(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.mean_of(axes.into(), true)
    }

    /// The mean of the squared distances from the mean, over dimensions, which vanish.
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn var(self, axes: impl Into<Axes>) -> Tensor<'g> {
        let axes = axes.into();
        (self - self.mean_keepdims(axes.clone())).square().mean(axes)
    }

    /// The logarithm of the sum of exponentials over dimensions, which vanish; it does not overflow where the result does not.
    ///
    /// Reported: the tensor lacks a dimension, or one is named twice; its elements are not floats.
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
                return Err(ErrorKind::Operands(format!("mean takes floats, not {dtype}")));
            }
            let count: i64 = axes.sorted("mean", &shape)?.iter().map(|&d| shape[d]).product();
            let sum = reduce(m, "mean", ReductionKind::Add, values[0], &axes, keep)?;
            let shape = m.shape_of(sum);
            let count = m.filled(count as f64, &shape, dtype)?;
            m.infer(OpKind::Binary(shardc_ir::BinaryOp::Divide), &[sum, count], &[])
        })
    }
}

/// Reduces over dimensions, which vanish or stay with size one.
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
    let Some(start) = number::start(kind, dtype) else {
        return Err(ErrorKind::Operands(format!("{op} does not take elements of type {dtype}")));
    };
    let start = m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &[], dtype)?;
    let region = reducer::reducer(&mut m.state.module, kind, dtype);
    let list = dims.iter().map(|&d| d as u32).collect();
    let reduced = m.infer(OpKind::Reduce { dims: list }, &[value, start], &[region])?;
    if !keep {
        return Ok(reduced);
    }
    let kept: Vec<i64> = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] }).collect();
    m.typed(OpKind::Reshape, &[reduced], &kept, dtype)
}
