//! Batch normalization, by the formulas of the specification.

use shardc_ir::{BatchNormSpec, BinaryOp, UnaryOp};

use super::elementwise::{binary, unary};
use super::moves::broadcast;
use super::reduce::{kept, reduce};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::numbers::Domain;

/// Arithmetic on arrays that have one element per feature, or all of them.
struct Features<'a, D: Domain> {
    operand: &'a Array<D>,
    dim: usize,
    epsilon: f64,
    key: u64,
}

impl<'a, D: Domain> Features<'a, D> {
    fn new(operand: &'a Array<D>, spec: BatchNormSpec, key: u64) -> Result<Self, Fault> {
        let dim = spec.feature_index as usize;
        if dim >= operand.rank() {
            return Fault::invalid("a feature dimension that does not exist");
        }
        Ok(Features { operand, dim, epsilon: f64::from(spec.epsilon), key })
    }

    fn spread(&self, a: &Array<D>) -> Result<Array<D>, Fault> {
        broadcast(a, &[self.dim], Dims::from_slice(self.operand.dims()))
    }

    fn apply(&self, op: BinaryOp, a: &Array<D>, b: &Array<D>) -> Result<Array<D>, Fault> {
        binary(op, a, b, self.key)
    }

    /// The sum over all dimensions except the features.
    fn sum(&self, a: &Array<D>) -> Result<Array<D>, Fault> {
        let dims = kept(a.rank(), &[self.dim]);
        let wide = super::convert::convert(a, wide(a))?;
        let zero = Array::full(Dims::new(), wide.dtype(), 0.0)?;
        let sum = reduce(&wide, &zero, &dims, BinaryOp::Add);
        let sum = sum.unwrap_or_else(|| Fault::unsupported("batch normalization of integers"))?;
        super::convert::convert(&sum, a.dtype())
    }

    fn count(&self, like: &Array<D>) -> Result<Array<D>, Fault> {
        let count = self.operand.len() / self.operand.dims()[self.dim].max(1);
        Array::full(Dims::from_slice(like.dims()), like.dtype(), count as f64)
    }

    fn mean(&self, a: &Array<D>) -> Result<Array<D>, Fault> {
        let sum = self.sum(a)?;
        self.apply(BinaryOp::Divide, &sum, &self.count(&sum)?)
    }

    /// `variance + epsilon`.
    fn shifted(&self, variance: &Array<D>) -> Result<Array<D>, Fault> {
        let epsilon = Array::full(Dims::from_slice(variance.dims()), variance.dtype(), self.epsilon)?;
        self.apply(BinaryOp::Add, variance, &epsilon)
    }

    fn centered(&self, mean: &Array<D>) -> Result<Array<D>, Fault> {
        self.apply(BinaryOp::Subtract, self.operand, &self.spread(mean)?)
    }

    fn deviation(&self, variance: &Array<D>) -> Result<Array<D>, Fault> {
        unary(UnaryOp::Sqrt, &self.spread(&self.shifted(variance)?)?, self.key)
    }
}

/// The type in which sums are accumulated.
fn wide<D: Domain>(a: &Array<D>) -> shardc_ir::DType {
    if a.dtype().is_float() && a.dtype() != shardc_ir::DType::F64 { shardc_ir::DType::F32 } else { a.dtype() }
}

/// Normalizes with the given mean and variance. `arrays` are operand, scale, offset, mean and variance.
pub(crate) fn inference<D: Domain>(
    arrays: &[Array<D>; 5],
    spec: BatchNormSpec,
    key: u64,
) -> Result<Array<D>, Fault> {
    let [operand, scale, offset, mean, variance] = arrays;
    let f = Features::new(operand, spec, key)?;
    let normalized = f.apply(BinaryOp::Divide, &f.centered(mean)?, &f.deviation(variance)?)?;
    let scaled = f.apply(BinaryOp::Multiply, &normalized, &f.spread(scale)?)?;
    f.apply(BinaryOp::Add, &scaled, &f.spread(offset)?)
}

/// Normalizes with the mean and the variance of the operand, and returns them. `arrays` are operand, scale and offset.
pub(crate) fn training<D: Domain>(
    arrays: &[Array<D>; 3],
    spec: BatchNormSpec,
    key: u64,
) -> Result<Vec<Array<D>>, Fault> {
    let [operand, scale, offset] = arrays;
    let f = Features::new(operand, spec, key)?;
    let mean = f.mean(operand)?;
    let centered = f.centered(&mean)?;
    let variance = f.mean(&f.apply(BinaryOp::Multiply, &centered, &centered)?)?;
    let all = [operand.clone(), scale.clone(), offset.clone(), mean.clone(), variance.clone()];
    Ok(vec![inference(&all, spec, key)?, mean, variance])
}

/// Gradients of operand, scale and offset. `arrays` are operand, scale, mean, variance and the gradient of the output.
pub(crate) fn gradient<D: Domain>(
    arrays: &[Array<D>; 5],
    spec: BatchNormSpec,
    key: u64,
) -> Result<Vec<Array<D>>, Fault> {
    use BinaryOp::{Divide, Multiply, Subtract};
    let [operand, scale, mean, variance, grad] = arrays;
    let f = Features::new(operand, spec, key)?;
    let deviation = f.deviation(variance)?;
    let centered = f.centered(mean)?;
    let normalized = f.apply(Divide, &centered, &deviation)?;
    let count = f.spread(&f.count(mean)?)?;
    let grad_sum = f.sum(grad)?;
    let product_sum = f.sum(&f.apply(Multiply, grad, &centered)?)?;
    let scaled = f.apply(Multiply, &count, grad)?;
    let correction = f.apply(Multiply, &f.spread(&product_sum)?, &centered)?;
    let correction = f.apply(Divide, &correction, &f.spread(&f.shifted(variance)?)?)?;
    let inner = f.apply(Subtract, &f.apply(Subtract, &scaled, &f.spread(&grad_sum)?)?, &correction)?;
    let factor = f.apply(Divide, &f.apply(Divide, &f.spread(scale)?, &deviation)?, &count)?;
    Ok(vec![f.apply(Multiply, &factor, &inner)?, f.sum(&f.apply(Multiply, grad, &normalized)?)?, grad_sum])
}
