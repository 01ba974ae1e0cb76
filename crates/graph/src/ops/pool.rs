//! Window reductions: pooling.

use shardc_ir::{Dense, OpKind, ReductionKind, WindowSpec, reducer};
use smallvec::SmallVec;

use super::conv::Padding;
use crate::error::{ErrorKind, KindResult};
use crate::{Operand, RegionBody, Tensor, number};

impl<'g> Tensor<'g> {
    /// Max pooling. Sizes and strides are those of the spatial dimensions: all except the first (batch) and the last (features).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// assert_eq!(x.max_pool(&[2, 2], &[2, 2], &Padding::Valid).shape(), [2, 4, 4, 3]);
    /// ```
    ///
    /// Reports an error if the number of sizes or strides is not that of spatial dimensions, or if the element type is complex (unordered).
    #[must_use]
    #[track_caller]
    pub fn max_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.pool(ReductionKind::Max, sizes, strides, padding)
    }

    /// Min pooling: the minimum of each window. Sizes and strides are given as for [`max_pool`](Tensor::max_pool).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// assert_eq!(x.min_pool(&[2, 2], &[2, 2], &Padding::Valid).shape(), [2, 4, 4, 3]);
    /// ```
    ///
    /// Reports the errors of [`max_pool`](Tensor::max_pool).
    #[must_use]
    #[track_caller]
    pub fn min_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.pool(ReductionKind::Min, sizes, strides, padding)
    }

    /// Sum pooling: the sum of each window. Sizes and strides are given as for [`max_pool`](Tensor::max_pool).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// assert_eq!(x.sum_pool(&[2, 2], &[2, 2], &Padding::Valid).shape(), [2, 4, 4, 3]);
    /// ```
    ///
    /// Reports the errors of [`max_pool`](Tensor::max_pool).
    #[must_use]
    #[track_caller]
    pub fn sum_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.pool(ReductionKind::Add, sizes, strides, padding)
    }

    /// Average pooling; padding is not counted. To count padding as zeros, divide [`sum_pool`](Tensor::sum_pool) by the size of a window.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8, 8, 3], F32);
    /// assert_eq!(x.avg_pool(&[2, 2], &[2, 2], &Padding::Valid).shape(), [2, 4, 4, 3]);
    /// ```
    ///
    /// Reports an error if the number of sizes or strides is not that of spatial dimensions, or if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn avg_pool(self, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        let sum = self.pool(ReductionKind::Add, sizes, strides, padding);
        if *padding == Padding::Valid {
            return sum / sizes.iter().product::<i64>() as f64;
        }
        let ones = self.full_like(1.0);
        sum / ones.pool(ReductionKind::Add, sizes, strides, padding)
    }

    /// Reduces windows over all dimensions, with initial value `init`, and one size and stride per dimension. `combine` takes two scalars.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Padding};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [8], F32);
    /// let sums = x.reduce_window(0.0, &[2], &[2], &Padding::Valid, |a, b| a + b);
    /// assert_eq!(sums.shape(), [4]);
    /// ```
    ///
    /// Reports an error if the number of sizes or strides is not the rank, or if `init` or the result of `combine` is not a scalar of the
    /// element type.
    #[must_use]
    #[track_caller]
    pub fn reduce_window(
        self,
        init: impl Into<Operand<'g>>,
        sizes: &[i64],
        strides: &[i64],
        padding: &Padding,
        combine: impl FnOnce(Tensor<'g>, Tensor<'g>) -> Tensor<'g>,
    ) -> Tensor<'g> {
        let (g, shape) = (self.graph(), self.shape());
        if self.is_poisoned() {
            return self;
        }
        let init = match init.into() {
            Operand::Tensor(tensor) => tensor,
            number => g.make(&[self], |m, values| {
                let dtype = m.dtype_of(values[0]);
                super::broadcast::number_of(m, &number, &[], dtype)
            }),
        };
        match windows(&shape, sizes, strides, padding) {
            Ok(spec) => {
                let region = RegionBody::of_scalars(2, self.dtype(), |args| vec![combine(args[0], args[1])]);
                let kind = OpKind::ReduceWindow(Box::new(spec));
                g.op_with_regions(kind, &[self, init], 1, vec![region])[0]
            }
            Err(kind) => g.report(&[self], kind),
        }
    }

    /// Reduces each window over the spatial dimensions.
    #[track_caller]
    fn pool(self, kind: ReductionKind, sizes: &[i64], strides: &[i64], padding: &Padding) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let spatial = shape.len().saturating_sub(2);
            if shape.len() < 2 || sizes.len() != spatial || strides.len() != spatial {
                let text =
                    format!("pooling a tensor of shape {shape:?} needs {spatial} window sizes and strides");
                return Err(ErrorKind::Operands(text));
            }
            let around = |list: &[i64]| [&[1], list, &[1]].concat();
            let around_pairs = |list: &[(i64, i64)]| [&[(0, 0)], list, &[(0, 0)]].concat();
            let padding = match padding {
                Padding::Explicit(list) => Padding::Explicit(around_pairs(list)),
                other => other.clone(),
            };
            let spec = windows(&shape, &around(sizes), &around(strides), &padding)?;
            let Some(start) = number::start(kind, dtype) else {
                return Err(ErrorKind::Operands(format!(
                    "pooling does not support the element type {dtype}"
                )));
            };
            let start = m.typed(OpKind::Constant(Dense::splat(&start)), &[], &[], dtype)?;
            let region = reducer::reducer(&mut m.state.module, kind, dtype);
            m.infer(OpKind::ReduceWindow(Box::new(spec)), &[values[0], start], &[region])
        })
    }
}

/// Returns the window specification with one size and stride per dimension of `shape`.
fn windows(shape: &[i64], sizes: &[i64], strides: &[i64], padding: &Padding) -> KindResult<WindowSpec> {
    let rank = shape.len();
    if sizes.len() != rank || strides.len() != rank {
        let text = format!(
            "window sizes {sizes:?} and strides {strides:?} do not match the rank of a tensor of shape {shape:?}"
        );
        return Err(ErrorKind::Operands(text));
    }
    let mut amounts = SmallVec::new();
    for i in 0..rank {
        match padding.amounts(i, shape[i], sizes[i], strides[i].max(1)) {
            Some(pair) => amounts.push(pair),
            None => {
                return Err(ErrorKind::Operands(format!(
                    "expected {rank} pairs of padding, one per dimension"
                )));
            }
        }
    }
    Ok(WindowSpec {
        dimensions: sizes.iter().copied().collect(),
        strides: strides.iter().copied().collect(),
        padding: amounts,
        ..WindowSpec::default()
    })
}
