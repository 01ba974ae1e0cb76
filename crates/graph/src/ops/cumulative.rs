//! Running sums, and masks of triangles.

use shardc_ir::{DType, OpKind, ReductionKind, WindowSpec, reducer};
use smallvec::SmallVec;

use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::{Tensor, axes, number};

macro_rules! running {
    ($($(#[$doc:meta])* $name:ident => $kind:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            /// Reported: the tensor lacks the dimension, or its elements have no such reduction.
            #[must_use]
            #[track_caller]
            pub fn $name(self, axis: i64) -> Tensor<'g> {
                self.running(stringify!($name), ReductionKind::$kind, axis)
            })*
        }
    };
}

running! {
    /// The sum of each element and those before it along dimension `axis`.
    cumsum => Add,
    /// The product of each element and those before it along dimension `axis`.
    cumprod => Mul,
    /// The largest of each element and those before it along dimension `axis`.
    cummax => Max,
    /// The smallest of each element and those before it along dimension `axis`.
    cummin => Min,
}

impl<'g> Tensor<'g> {
    #[track_caller]
    fn running(self, op: &'static str, kind: ReductionKind, axis: i64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let dim = axes::one(op, axis, &shape)?;
            let start = match kind {
                ReductionKind::Max => number::extreme(dtype, false),
                ReductionKind::Min => number::extreme(dtype, true),
                ReductionKind::Mul => number::encode(dtype, 1.0),
                _ => number::encode(dtype, 0.0),
            };
            let Some(start) = start else {
                return Err(ErrorKind::Operands(format!("{op} does not take elements of type {dtype}")));
            };
            let start = m.typed(OpKind::Constant(shardc_ir::Dense::splat(&start)), &[], &[], dtype)?;
            let n = shape[dim];
            let mut padding = SmallVec::from_elem((0, 0), shape.len());
            padding[dim] = ((n - 1).max(0), 0);
            let size = |d: usize| if d == dim { n.max(1) } else { 1 };
            let spec = WindowSpec {
                dimensions: (0..shape.len()).map(size).collect(),
                padding,
                ..WindowSpec::default()
            };
            let region = reducer::reducer(&mut m.state.module, kind, dtype);
            m.infer(OpKind::ReduceWindow(Box::new(spec)), &[values[0], start], &[region])
        })
    }

    /// The lower triangle of matrices in the last two dimensions, up to the `k`-th diagonal above the main one; the rest is zero.
    ///
    /// Reported: the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn tril(self, k: i64) -> Tensor<'g> {
        let (rows, columns) = (self.size(-2), self.size(-1));
        self.graph().tri(rows, columns, k).select(self, 0)
    }

    /// The upper triangle of matrices in the last two dimensions, from the `k`-th diagonal above the main one; the rest is zero.
    ///
    /// Reported: the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn triu(self, k: i64) -> Tensor<'g> {
        let (rows, columns) = (self.size(-2), self.size(-1));
        self.graph().tri(rows, columns, k - 1).select(0, self)
    }
}

impl Graph {
    /// Where the column is at most the row and `k` more, as truth values of shape `[rows, columns]`: the lower triangle. What each
    /// position may attend to, where none sees those behind it, is `tri(t, t, 0)`.
    ///
    /// Reported: a size is negative.
    #[track_caller]
    pub fn tri(&self, rows: i64, columns: i64, k: i64) -> Tensor<'_> {
        let row = self.iota([rows, columns], 0, DType::I32);
        let column = self.iota([rows, columns], 1, DType::I32);
        (row + k).ge(column)
    }

    /// The identity matrix.
    ///
    /// Reported: the size is negative.
    #[track_caller]
    pub fn eye(&self, n: i64, dtype: DType) -> Tensor<'_> {
        self.iota([n, n], 0, DType::I32).eq(self.iota([n, n], 1, DType::I32)).to(dtype)
    }
}
