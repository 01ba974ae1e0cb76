//! Bit representations, rounding and special values.

use shardc_ir::{BinaryOp, DType, DTypeClass, OpKind};

use crate::error::ErrorKind;
use crate::{Operand, Tensor, number};

impl<'g> Tensor<'g> {
    /// Reinterprets the bits as elements of type `dtype`. If new elements are `k` times smaller, the result has a new last dimension of
    /// size `k`, with the low bits first. If new elements are `k` times larger, the last dimension must have size `k` and is removed.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.bitcast(DType::I32).dtype(), DType::I32);
    /// ```
    ///
    /// Reports an error if the last dimension does not form one element of the larger type, or one of the types has no bit representation.
    #[must_use]
    #[track_caller]
    pub fn bitcast(self, dtype: DType) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (mut shape, of) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            let (from, to) = (i64::from(of.bits()), i64::from(dtype.bits()));
            let fits = match (from.max(to) / from.min(to), from.max(to) % from.min(to)) {
                (1, 0) => true,
                (times, 0) if from > to => {
                    shape.push(times);
                    true
                }
                (times, 0) => shape.pop() == Some(times),
                _ => false,
            };
            if !fits || (of == DType::I1) != (dtype == DType::I1) {
                let text = format!("cannot bitcast {of}{:?} to {dtype}: the last dimension does not match the ratio of the widths", m.shape_of(values[0]));
                return Err(ErrorKind::Operands(text));
            }
            m.typed(OpKind::BitcastConvert, values, &shape, dtype)
        })
    }

    /// Rounds to floats with this many exponent and mantissa bits; the element type is unchanged.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.reduce_precision(8, 7).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn reduce_precision(self, exponent_bits: u32, mantissa_bits: u32) -> Tensor<'g> {
        let kind = OpKind::ReducePrecision { exponent_bits, mantissa_bits };
        self.graph().make(&[self], |m, values| m.infer(kind, values, &[]))
    }

    /// Returns whether each element is NaN.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.is_nan().dtype(), DType::I1);
    /// ```
    ///
    /// All results are false for element types without NaN.
    #[must_use]
    #[track_caller]
    pub fn is_nan(self) -> Tensor<'g> {
        self.ne(self)
    }

    /// Returns whether each element is infinite, of either sign.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.is_inf().dtype(), DType::I1);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn is_inf(self) -> Tensor<'g> {
        self.abs().eq(f64::INFINITY)
    }

    /// Returns whether the sign bit is set, also for `-0.0`.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.sign_bit().dtype(), DType::I1);
    /// ```
    ///
    /// Reports an error if the element type is neither a float type of 8 to 64 bits nor an integer type.
    #[must_use]
    #[track_caller]
    pub fn sign_bit(self) -> Tensor<'g> {
        if !self.dtype().is_float() {
            return self.lt(0);
        }
        let bits = match self.dtype().bits() {
            8 => DType::I8,
            16 => DType::I16,
            64 => DType::I64,
            _ => DType::I32,
        };
        self.bitcast(bits).lt(0)
    }

    /// Replaces NaN by zero, and infinities by the largest finite numbers of the same sign.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.nan_to_num().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not `f64`, `f32`, `f16` or `bf16`.
    #[must_use]
    #[track_caller]
    pub fn nan_to_num(self) -> Tensor<'g> {
        let Some(most) = number::largest_finite(self.dtype()) else {
            let text = format!("nan_to_num expects floats, got {}", self.dtype());
            return self.graph().report(&[self], ErrorKind::Operands(text));
        };
        let known = self.is_nan().select(0, self);
        let known = known.eq(f64::INFINITY).select(most, known);
        known.eq(f64::NEG_INFINITY).select(-most, known)
    }

    /// Rounds towards zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.trunc().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn trunc(self) -> Tensor<'g> {
        self.lt(0).select(self.ceil(), self.floor())
    }

    /// Returns the floor of `self / y`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.floor_div(2.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast, the element types differ, or the element type is `i1`.
    #[must_use]
    #[track_caller]
    pub fn floor_div(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
        let y = y.into();
        let quotient = self.graph().binary(BinaryOp::Divide, self, y);
        match quotient.dtype().class() {
            DTypeClass::Signed => (self % y).is_beyond(y).select(quotient - 1, quotient),
            DTypeClass::Float => ((self - self.modulo(y)) / y).round(),
            _ => quotient,
        }
    }

    /// Returns the maximum with `low`, then the minimum with `high`: `numpy.clip`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.clip(0.0, 1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn clip(self, low: impl Into<Operand<'g>>, high: impl Into<Operand<'g>>) -> Tensor<'g> {
        self.max(low).min(high)
    }
}
