//! Linear algebra, Fourier transforms, norms and statistics.

use shardc_ir::{DType, FftKind, OpKind, TriangularSpec};

use crate::Tensor;
use crate::axes::Axes;
use crate::error::ErrorKind;

impl<'g> Tensor<'g> {
    /// Cholesky factor: the lower triangular matrix whose product with its transpose is this matrix. Leading dimensions are batch
    /// dimensions; the symmetric part of each matrix is used.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let a = g.parameter("a", [4, 4], F32);
    /// assert_eq!(a.cholesky().shape(), [4, 4]);
    /// ```
    ///
    /// Reports an error if the matrices are not square, or not of a float type.
    #[must_use]
    #[track_caller]
    pub fn cholesky(self) -> Tensor<'g> {
        let symmetric = (self + self.t()) / 2;
        symmetric
            .graph()
            .make(&[symmetric], |m, values| m.infer(OpKind::Cholesky { lower: true }, values, &[]))
            .tril(0)
    }

    /// Solves `a x = b`, or `x a = b`, for each triangular matrix `a` in the last two dimensions.
    ///
    /// Reports an error if the shapes do not match, if the element types differ, or if they are not float types.
    #[must_use]
    #[track_caller]
    pub fn triangular_solve(self, b: impl Into<Tensor<'g>>, spec: &TriangularSpec) -> Tensor<'g> {
        let kind = OpKind::TriangularSolve(Box::new(spec.clone()));
        self.graph().make(&[self, b.into()], |m, values| m.infer(kind, values, &[]))
    }

    /// Computes a Fourier transform of the last dimensions: `lengths` are the FFT lengths.
    ///
    /// ```
    /// # use shardc_graph::{DType, FftKind, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8], DType::C64);
    /// assert_eq!(x.fft_of(FftKind::Fft, &[8]).shape(), [2, 8]);
    /// ```
    ///
    /// Reports an error if the transform does not support the element type, or if the dimension sizes do not match the lengths.
    #[must_use]
    #[track_caller]
    pub fn fft_of(self, kind: FftKind, lengths: &[i64]) -> Tensor<'g> {
        let kind = OpKind::Fft { kind, length: lengths.iter().copied().collect() };
        self.graph().make(&[self], |m, values| m.infer(kind, values, &[]))
    }

    /// Complex Fourier transform of the last dimension.
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8], DType::C64);
    /// assert_eq!(x.fft().shape(), [2, 8]);
    /// ```
    ///
    /// Reports an error if the element type is not complex.
    #[must_use]
    #[track_caller]
    pub fn fft(self) -> Tensor<'g> {
        self.fft_of(FftKind::Fft, &[self.size(-1)])
    }

    /// Computes the inverse of [`fft`](Tensor::fft).
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8], DType::C64);
    /// assert_eq!(x.ifft().shape(), [2, 8]);
    /// ```
    ///
    /// Reports an error if the element type is not complex.
    #[must_use]
    #[track_caller]
    pub fn ifft(self) -> Tensor<'g> {
        self.fft_of(FftKind::Ifft, &[self.size(-1)])
    }

    /// Fourier transform of the last dimension of real numbers: the `n / 2 + 1` nonredundant complex numbers.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 8], F32);
    /// assert_eq!(x.rfft().shape(), [2, 5]);
    /// ```
    ///
    /// Reports an error if the element type is neither `f32` nor `f64`.
    #[must_use]
    #[track_caller]
    pub fn rfft(self) -> Tensor<'g> {
        self.fft_of(FftKind::Rfft, &[self.size(-1)])
    }

    /// Computes the inverse of [`rfft`](Tensor::rfft): `n` real numbers.
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 5], DType::C64);
    /// assert_eq!(x.irfft(8).shape(), [2, 8]);
    /// ```
    ///
    /// Reports an error if the element type is not complex, or the dimension does not have `n / 2 + 1` elements.
    #[must_use]
    #[track_caller]
    pub fn irfft(self, n: i64) -> Tensor<'g> {
        self.fft_of(FftKind::Irfft, &[n])
    }

    /// Returns the L2 norm over dimensions, which are removed. The norm of 16-bit floats is computed in 32 bits.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.norm(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn norm(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.wide().square().sum(axes).sqrt().to(self.dtype())
    }

    /// Returns the norm of this order over dimensions, which are removed: `sum(abs(x)^order)^(1/order)`. Order infinity is the largest
    /// absolute value, order minus infinity the smallest, and order 0 the number of nonzero elements.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.norm_of(1.0, 1).shape(), [2]);
    /// ```
    ///
    /// Reports the errors of [`norm`](Tensor::norm).
    #[must_use]
    #[track_caller]
    pub fn norm_of(self, order: f64, axes: impl Into<Axes>) -> Tensor<'g> {
        if order == f64::INFINITY {
            self.abs().amax(axes)
        } else if order == f64::NEG_INFINITY {
            self.abs().amin(axes)
        } else if order == 0.0 {
            self.ne(0).to(self.dtype()).sum(axes)
        } else if order == 1.0 {
            self.abs().sum(axes)
        } else if order == 2.0 {
            self.norm(axes)
        } else {
            self.abs().pow(order).sum(axes).pow(1.0 / order)
        }
    }

    /// Returns the `k`-th diagonal above the main diagonal, of matrices in the last two dimensions.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let a = g.parameter("a", [4, 4], F32);
    /// assert_eq!(a.diagonal(1).shape(), [3]);
    /// ```
    ///
    /// Reports an error if the tensor has fewer than two dimensions, or if the diagonal is out of bounds.
    #[must_use]
    #[track_caller]
    pub fn diagonal(self, k: i64) -> Tensor<'g> {
        if self.is_poisoned() {
            return self;
        }
        let (rows, columns) = (self.size(-2), self.size(-1));
        let n = (rows - (-k).max(0)).min(columns - k.max(0));
        if n < 0 || self.rank() < 2 {
            let text = format!("a tensor of shape {:?} has no diagonal {k}", self.shape());
            return self.graph().report(&[self], ErrorKind::Operands(text));
        }
        let along = self.graph().arange(n, DType::I32);
        let matrices = self.move_axis(-1, 0).move_axis(-1, 0);
        let picked = matrices.index(&[along + (-k).max(0), along + k.max(0)]);
        picked.move_axis(0, -1)
    }

    /// Returns the sum of the diagonal of matrices in the last two dimensions.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let a = g.parameter("a", [4, 4], F32);
    /// assert_eq!(a.trace().rank(), 0);
    /// ```
    ///
    /// Reports an error if the tensor has fewer than two dimensions.
    #[must_use]
    #[track_caller]
    pub fn trace(self) -> Tensor<'g> {
        let (rows, columns) = (self.size(-2), self.size(-1));
        let row = self.graph().iota([rows, columns], 0, DType::I32);
        let column = self.graph().iota([rows, columns], 1, DType::I32);
        row.eq(column).select(self, 0).sum([-2, -1])
    }

    /// Outer product: the products of all pairs of elements, with this tensor's elements along the first dimension.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [3], F32);
    /// let y = g.parameter("y", [4], F32);
    /// assert_eq!(x.outer(y).shape(), [3, 4]);
    /// ```
    ///
    /// Reports an error if the element types differ.
    #[must_use]
    #[track_caller]
    pub fn outer(self, y: impl Into<Tensor<'g>>) -> Tensor<'g> {
        self.reshape([-1, 1]) * y.into().reshape([1, -1])
    }

    /// Dot product of two tensors of the same shape: the sum of the products of corresponding elements.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [3], F32);
    /// let y = g.parameter("y", [3], F32);
    /// assert_eq!(x.vdot(y).rank(), 0);
    /// ```
    ///
    /// Reports an error if the shapes or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn vdot(self, y: impl Into<Tensor<'g>>) -> Tensor<'g> {
        self.reshape([-1]).dot(y.into().reshape([-1]))
    }

    /// Cross product of vectors in the last dimension, which has size 3.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [3], F32);
    /// let y = g.parameter("y", [3], F32);
    /// assert_eq!(x.cross(y).shape(), [3]);
    /// ```
    ///
    /// Reports an error if the last dimension has a different size, or the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn cross(self, y: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let y = y.into();
        if !self.is_poisoned() && !y.is_poisoned() && (self.size(-1), y.size(-1)) != (3, 3) {
            let text =
                format!("cross needs vectors of size 3, got shapes {:?} and {:?}", self.shape(), y.shape());
            return self.graph().report(&[self, y], ErrorKind::Operands(text));
        }
        let part = |i: i64, j: i64| self.at(-1, i) * y.at(-1, j) - self.at(-1, j) * y.at(-1, i);
        self.graph().stack(&[part(1, 2), part(2, 0), part(0, 1)], -1)
    }

    /// Returns the sum of squared deviations from the mean over dimensions, which are removed, divided by the number of elements minus
    /// `ddof`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.var_ddof(1, 1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn var_ddof(self, axes: impl Into<Axes>, ddof: i64) -> Tensor<'g> {
        let axes = axes.into();
        let sum = (self - self.mean_keepdims(axes.clone())).square().sum(axes);
        let count = if sum.num_elements() == 0 { 0 } else { self.num_elements() / sum.num_elements() };
        sum / (count - ddof) as f64
    }

    /// Returns the standard deviation over dimensions, which are removed: the square root of the [variance](Tensor::var).
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.std(1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks a dimension, if a dimension is repeated, or if its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn std(self, axes: impl Into<Axes>) -> Tensor<'g> {
        self.var(axes).sqrt()
    }
}
