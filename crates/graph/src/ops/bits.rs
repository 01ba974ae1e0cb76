//! Bits of numbers, and numbers that are none.

use shardc_ir::{BinaryOp, DType, DTypeClass, OpKind};

use crate::error::ErrorKind;
use crate::{Operand, Tensor, number};

impl<'g> Tensor<'g> {
    /// The same bits as elements of type `dtype`. Of elements of half the size the result has one more dimension, of two, behind the
    /// others, the lower half first; two of them, along the last dimension, become one of twice the size. So for other multiples.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.bitcast(DType::I32).dtype(), DType::I32);
    /// ```
    ///
    /// Reported: the last dimension is not one element of the larger type, or one of both is no number of bits.
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
                let text = format!("{of}{:?} has no whole number of {dtype}", m.shape_of(values[0]));
                return Err(ErrorKind::Operands(text));
            }
            m.typed(OpKind::BitcastConvert, values, &shape, dtype)
        })
    }

    /// Rounds to floats of so many bits of exponent and mantissa; the element type stays.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.reduce_precision(8, 7).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn reduce_precision(self, exponent_bits: u32, mantissa_bits: u32) -> Tensor<'g> {
        let kind = OpKind::ReducePrecision { exponent_bits, mantissa_bits };
        self.graph().make(&[self], |m, values| m.infer(kind, values, &[]))
    }

    /// Where an element is NaN.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.is_nan().dtype(), DType::I1);
    /// ```
    ///
    /// Reported: the tensor is none of this graph's.
    #[must_use]
    #[track_caller]
    pub fn is_nan(self) -> Tensor<'g> {
        self.ne(self)
    }

    /// Where an element is infinite, of either sign.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.is_inf().dtype(), DType::I1);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn is_inf(self) -> Tensor<'g> {
        self.abs().eq(f64::INFINITY)
    }

    /// Where the sign is set, that of `-0.0` too.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.sign_bit().dtype(), DType::I1);
    /// ```
    ///
    /// Reported: the elements are neither floats of 8 to 64 bits nor integers.
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

    /// Zero for NaN, and the largest and smallest number for infinities.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.nan_to_num().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn nan_to_num(self) -> Tensor<'g> {
        let Some(most) = number::largest_finite(self.dtype()) else {
            let text = format!("nan_to_num takes floats, not {}", self.dtype());
            return self.graph().report(&[self], ErrorKind::Operands(text));
        };
        let known = self.is_nan().select(0, self);
        let known = known.eq(f64::INFINITY).select(most, known);
        known.eq(f64::NEG_INFINITY).select(-most, known)
    }

    /// The whole number towards zero.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.trunc().shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the elements are not floats.
    #[must_use]
    #[track_caller]
    pub fn trunc(self) -> Tensor<'g> {
        self.lt(0).select(self.ceil(), self.floor())
    }

    /// The largest whole number that is at most `self / y`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.floor_div(2.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the shapes do not broadcast, the element types differ, or the elements are of type `i1`.
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

    /// The larger of this tensor and `low`, then the smaller of that and `high`: `numpy.clip`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.clip(0.0, 1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reported: the shapes do not broadcast or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn clip(self, low: impl Into<Operand<'g>>, high: impl Into<Operand<'g>>) -> Tensor<'g> {
        self.max(low).min(high)
    }
}
