//! Triangular matrices, masks and sequences.

use shardc_ir::DType;

use crate::Tensor;
use crate::error::ErrorKind;
use crate::graph::Graph;

impl<'g> Tensor<'g> {
    /// Returns the lower triangle of matrices in the last two dimensions, up to the `k`-th diagonal above the main diagonal; the rest is
    /// zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let a = g.parameter("a", [4, 4], F32);
    /// assert_eq!(a.tril(0).shape(), [4, 4]);
    /// ```
    ///
    /// Reports an error if the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn tril(self, k: i64) -> Tensor<'g> {
        let (rows, columns) = (self.size(-2), self.size(-1));
        self.graph().tri(rows, columns, k).select(self, 0)
    }

    /// Returns the upper triangle of matrices in the last two dimensions, from the `k`-th diagonal above the main diagonal; the rest is
    /// zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let a = g.parameter("a", [4, 4], F32);
    /// assert_eq!(a.triu(1).shape(), [4, 4]);
    /// ```
    ///
    /// Reports an error if the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn triu(self, k: i64) -> Tensor<'g> {
        let (rows, columns) = (self.size(-2), self.size(-1));
        self.graph().tri(rows, columns, k - 1).select(0, self)
    }
}

impl Graph {
    /// Lower triangular mask, an `i1` tensor of shape `[rows, columns]`: true where the column is at most the row plus `k`. The causal mask
    /// of `t` positions is `tri(t, t, 0)`.
    ///
    /// ```
    /// # use shardc_graph::{Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.tri(4, 6, 0).shape(), [4, 6]);
    /// ```
    ///
    /// Reports an error if a size is negative.
    #[track_caller]
    pub fn tri(&self, rows: i64, columns: i64, k: i64) -> Tensor<'_> {
        let row = self.iota([rows, columns], 0, DType::I32);
        let column = self.iota([rows, columns], 1, DType::I32);
        (row + k).ge(column)
    }

    /// Creates the identity matrix.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.eye(4, F32).shape(), [4, 4]);
    /// ```
    ///
    /// Reports an error if the size is negative.
    #[track_caller]
    pub fn eye(&self, n: i64, dtype: DType) -> Tensor<'_> {
        self.iota([n, n], 0, DType::I32).eq(self.iota([n, n], 1, DType::I32)).to(dtype)
    }

    /// Causal mask, an `i1` tensor of shape `[queries, keys]`, aligned at the end: the last query attends to all keys.
    ///
    /// ```
    /// # use shardc_graph::{Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.causal_mask(4, 6).shape(), [4, 6]);
    /// ```
    ///
    /// Reports an error if a size is negative.
    #[track_caller]
    pub fn causal_mask(&self, queries: i64, keys: i64) -> Tensor<'_> {
        self.tri(queries, keys, keys - queries)
    }

    /// Creates a tensor of `count` evenly spaced numbers from `start` to `stop`, inclusive.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// assert_eq!(g.linspace(0.0, 1.0, 5, F32).shape(), [5]);
    /// ```
    ///
    /// Reports an error if `count` is negative, or if the element type is not a float type.
    #[track_caller]
    pub fn linspace(&self, start: f64, stop: f64, count: i64, dtype: DType) -> Tensor<'_> {
        if !dtype.is_float() {
            return self.report(
                &[],
                ErrorKind::Operands(format!("linspace needs a floating-point type, got {dtype}")),
            );
        }
        if count < 2 {
            return self.full([count], start, dtype);
        }
        let step = self.arange(count - 1, dtype) / (count - 1) as f64;
        let before = start * (1 - step) + stop * step;
        self.concatenate(&[before, self.full([1], stop, dtype)], 0)
    }
}
