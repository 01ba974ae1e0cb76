//! Random distributions.

use shardc_ir::floats::power_of_two;
use shardc_ir::{DType, OpKind};

use super::Key;
use crate::number::encode;
use crate::{IntoShape, Operand, Tensor};

/// Returns, for a float type, the unsigned integer type of equal width, the number of mantissa bits, and the integer type of the
/// random bits.
fn layout(dtype: DType) -> Option<(DType, i64, DType)> {
    match dtype {
        DType::F64 => Some((DType::UI64, 52, DType::UI64)),
        DType::F32 => Some((DType::UI32, 23, DType::UI32)),
        DType::F16 => Some((DType::UI16, 10, DType::UI16)),
        DType::BF16 => Some((DType::UI16, 7, DType::UI8)),
        _ => None,
    }
}

/// Returns the smallest positive normal number of a float type.
fn tiny(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => power_of_two(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Returns the next representable number towards zero; `number` must be a power of two or its negative.
fn before(dtype: DType, number: f64) -> f64 {
    let mantissa = layout(dtype).map_or(23, |(_, mantissa, _)| mantissa);
    number * (1.0 - power_of_two(-(mantissa as i32) - 1))
}

impl<'g> Key<'g> {
    /// Uniform numbers from `low` (inclusive) to `high` (exclusive).
    ///
    /// Reports an error if the element type is not a supported float type.
    #[must_use]
    #[track_caller]
    pub fn uniform(
        self,
        shape: impl IntoShape,
        dtype: DType,
        low: impl Into<Operand<'g>>,
        high: impl Into<Operand<'g>>,
    ) -> Tensor<'g> {
        let (shape, g) = (shape.into_shape(), self.words.graph());
        let Some((word, mantissa, drawn)) = layout(dtype) else {
            return g.refuse(&[], format!("random numbers need a floating-point type, got {dtype}"));
        };
        let bits = self.bits(shape.clone(), drawn).to(word);
        // A number in [1, 2) with random mantissa, minus one.
        let one = encode(dtype, 1.0).unwrap_or_default();
        let one = one.iter().rev().fold(0i64, |bits, &byte| bits << 8 | i64::from(byte));
        let filled = bits.shift_right_logical(i64::from(drawn.bits()) - mantissa) | one;
        let floats =
            g.make(&[filled], |m, values| m.typed(OpKind::BitcastConvert, values, &shape, dtype)) - 1;
        let (low, high) = (as_tensor(floats, low.into()), as_tensor(floats, high.into()));
        low.max(floats * (high - low) + low)
    }

    /// Standard normal numbers: mean 0, variance 1.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.normal([2, 3], F32).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a supported float type.
    #[must_use]
    #[track_caller]
    pub fn normal(self, shape: impl IntoShape, dtype: DType) -> Tensor<'g> {
        // The lower bound is above -1, where the inverse error function is infinite.
        let uniform = self.uniform(shape, dtype, before(dtype, -1.0), 1.0);
        uniform.erf_inv() * std::f64::consts::SQRT_2
    }

    /// Truncated normal numbers between `low` and `high`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.truncated_normal([2, 3], F32, -2.0, 2.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a supported float type.
    #[must_use]
    #[track_caller]
    pub fn truncated_normal(self, shape: impl IntoShape, dtype: DType, low: f64, high: f64) -> Tensor<'g> {
        let g = self.words.graph();
        let root = g.scalar(std::f64::consts::SQRT_2, dtype);
        let (low, high) = (g.scalar(low, dtype), g.scalar(high, dtype));
        let uniform = self.uniform(shape, dtype, (low / root).erf(), (high / root).erf());
        let towards = |x: Tensor<'g>, to: f64| g.binary(shardc_ir::BinaryOp::NextAfter, x, x.full_like(to));
        let (low, high) = (towards(low, f64::INFINITY), towards(high, f64::NEG_INFINITY));
        (uniform.erf_inv() * root).max(low).min(high)
    }

    /// Bernoulli: true with probability `p`, which broadcasts to the shape.
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.bernoulli(0.5, [2, 3]).dtype(), DType::I1);
    /// ```
    ///
    /// Reports an error if the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn bernoulli(self, p: impl Into<Operand<'g>>, shape: impl IntoShape) -> Tensor<'g> {
        let p = p.into();
        let dtype = match p {
            Operand::Tensor(p) => p.dtype(),
            Operand::Number(_) | Operand::Integer(_) => DType::F32,
        };
        self.uniform(shape, dtype, 0, 1).lt(p)
    }

    /// Gumbel distributed numbers: `-log(-log(uniform))`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.gumbel([2, 3], F32).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a supported float type.
    #[must_use]
    #[track_caller]
    pub fn gumbel(self, shape: impl IntoShape, dtype: DType) -> Tensor<'g> {
        -(-self.uniform(shape, dtype, tiny(dtype), 1).log()).log()
    }

    /// Exponentially distributed numbers with mean 1.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.exponential([2, 3], F32).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is not a supported float type.
    #[must_use]
    #[track_caller]
    pub fn exponential(self, shape: impl IntoShape, dtype: DType) -> Tensor<'g> {
        -(-self.uniform(shape, dtype, 0, 1)).log1p()
    }

    /// Samples an index along dimension `axis` of `logits`, as `i32`, with probability proportional to the exponential of the logit.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(key.categorical(x, 1).shape(), [2]);
    /// ```
    ///
    /// Reports an error if the tensor lacks the dimension, or its element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn categorical(self, logits: impl Into<Tensor<'g>>, axis: i64) -> Tensor<'g> {
        let logits = logits.into();
        (self.gumbel(logits.shape(), logits.dtype()) + logits).argmax(axis)
    }

    /// Uniform integers from `low` (inclusive) to `high` (exclusive), as `i32`.
    ///
    /// ```
    /// # use shardc_graph::{DType, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.randint([2, 3], 0, 10).dtype(), DType::I32);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn randint(self, shape: impl IntoShape, low: i32, high: i32) -> Tensor<'g> {
        let shape = shape.into_shape();
        let [first, second] = self.pair();
        let (higher, lower) = (first.bits(shape.clone(), DType::UI32), second.bits(shape, DType::UI32));
        let span = if high <= low { 1 } else { i64::from(high) - i64::from(low) };
        // Uses twice as many random bits, so that the distribution is nearly uniform for every span.
        let multiplier = (1i64 << 16) % span;
        let multiplier = i64::from((multiplier * multiplier) as u32) % span;
        let offset = (higher % span * multiplier + lower % span) % span;
        offset.to(DType::I32) + i64::from(low)
    }

    /// Returns the numbers from 0 to `n` (exclusive) in random order, as `i32`.
    ///
    /// ```
    /// # use shardc_graph::{Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let key = g.key(42);
    /// assert_eq!(key.permutation(8).shape(), [8]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn permutation(self, n: i64) -> Tensor<'g> {
        let g = self.words.graph();
        let mut order = g.arange(n, DType::I32);
        // Enough rounds of sorting by 32-bit numbers to make ties unlikely.
        let log = (n.max(1) as f64).ln();
        let rounds = (3.0 * log / f64::from(u32::MAX).ln()).ceil() as usize;
        let mut key = self;
        for _ in 0..rounds {
            let [next, now] = key.pair();
            key = next;
            order = now.bits([n], DType::UI32).sort_with(&[order], 0)[1];
        }
        order
    }
}

/// Returns a bound as a tensor of the element type.
#[track_caller]
fn as_tensor<'g>(like: Tensor<'g>, bound: Operand<'g>) -> Tensor<'g> {
    let g = like.graph();
    match bound {
        Operand::Tensor(tensor) => tensor,
        Operand::Number(number) => g.scalar(number, like.dtype()),
        Operand::Integer(number) => g.scalar(number as f64, like.dtype()),
    }
}
