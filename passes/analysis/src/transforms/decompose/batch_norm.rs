//! Batch normalization expansion: expands `batch_norm_training` and `batch_norm_grad` to sums over all dimensions except the feature
//! dimension, and element-wise operations.
//!
//! Devices then exchange one or two sums for each feature, regardless of how the other dimensions are sharded, and padding is excluded.
//! As in XLA's back ends, the sums for the mean and for the mean of squares are computed together, so that one collective reduces both.
//! Elements of fewer than 32 bits are summed in 32 bits. `batch_norm_inference` is element-wise and stays.

use shardc_ir::{
    BatchNormKind, BatchNormSpec, BinaryOp, DType, DimList, OpId, Rewriter, TensorBuild, UnaryOp, ValueId,
};
use smallvec::{SmallVec, smallvec};

/// Appends the expansion of a batch normalization and returns its results; `None` if the operation is not expanded.
pub(super) fn decompose(
    rw: &mut Rewriter<'_>,
    op: OpId,
    kind: BatchNormKind,
    spec: BatchNormSpec,
) -> Option<SmallVec<[ValueId; 3]>> {
    let module = &mut *rw.module;
    let operands = module.ops[op].operands.clone();
    let plain = |&v: &ValueId| module.tensor(v).is_some_and(|t| t.is_static() && t.encoding.is_none());
    if !operands.iter().all(plain) {
        return None;
    }
    let ty = module.tensor(*operands.first()?)?;
    let (shape, dtype) = (ty.shape.to_vec(), ty.dtype);
    let feature = spec.feature_index as usize;
    let others: DimList = (0..shape.len()).filter(|&d| d != feature).map(|d| d as u32).collect();
    let count = others.iter().map(|&d| shape[d as usize] as f64).product();
    let mut norm = Norm {
        rw,
        wide: if dtype.bits() < 32 { DType::F32 } else { dtype },
        shape,
        feature: spec.feature_index,
        others,
        count,
        epsilon: f64::from(spec.epsilon),
    };
    let values = match (kind, operands.as_slice()) {
        (BatchNormKind::Training, &[x, scale, offset]) => norm.training(x, scale, offset)?,
        (BatchNormKind::Grad, &[x, scale, mean, variance, dy]) => norm.grad(x, scale, mean, variance, dy)?,
        _ => return None,
    };
    let values = values.into_iter().map(|value| norm.rw.convert(value, dtype)).collect();
    Some(values)
}

struct Norm<'a, 'm> {
    rw: &'a mut Rewriter<'m>,
    /// The element type in which sums and results are computed.
    wide: DType,
    shape: Vec<i64>,
    feature: u32,
    /// All dimensions except the feature dimension.
    others: DimList,
    /// The number of elements that each feature has.
    count: f64,
    epsilon: f64,
}

impl Norm<'_, '_> {
    fn training(&mut self, x: ValueId, scale: ValueId, offset: ValueId) -> Option<SmallVec<[ValueId; 3]>> {
        let [x, scale, offset] = [x, scale, offset].map(|value| self.rw.convert(value, self.wide));
        let square = self.multiply(x, x);
        let (sum, squares) = (self.sum(x)?, self.sum(square)?);
        let (mean, mean_square) = (self.per_element(sum)?, self.per_element(squares)?);
        let square_mean = self.multiply(mean, mean);
        let variance = self.rw.binary(BinaryOp::Subtract, mean_square, square_mean);
        // The variance is clamped to zero: rounding could make it negative.
        let zero = self.rw.full(0.0, variance)?;
        let variance = self.rw.binary(BinaryOp::Maximum, variance, zero);
        let inverse = self.inverse_deviation(variance)?;
        let factor = self.multiply(inverse, scale);
        let centered = self.centered(x, mean)?;
        let factor = self.spread(factor)?;
        let scaled = self.multiply(centered, factor);
        let offset = self.spread(offset)?;
        Some(smallvec![self.rw.binary(BinaryOp::Add, scaled, offset), mean, variance])
    }

    fn grad(
        &mut self,
        x: ValueId,
        scale: ValueId,
        mean: ValueId,
        variance: ValueId,
        dy: ValueId,
    ) -> Option<SmallVec<[ValueId; 3]>> {
        let [x, scale, mean, variance, dy] =
            [x, scale, mean, variance, dy].map(|value| self.rw.convert(value, self.wide));
        let inverse = self.inverse_deviation(variance)?;
        let centered = self.centered(x, mean)?;
        let product = self.multiply(dy, centered);
        let (d_offset, products) = (self.sum(dy)?, self.sum(product)?);
        let d_scale = self.multiply(products, inverse);
        // The contributions of the mean and the variance to the gradient of each element.
        let by_mean = self.per_element(d_offset)?;
        let by_deviation = self.multiply(d_scale, inverse);
        let by_deviation = self.per_element(by_deviation)?;
        let (by_mean, by_deviation) = (self.spread(by_mean)?, self.spread(by_deviation)?);
        let by_deviation = self.multiply(centered, by_deviation);
        let rest = self.rw.binary(BinaryOp::Subtract, dy, by_mean);
        let rest = self.rw.binary(BinaryOp::Subtract, rest, by_deviation);
        let factor = self.multiply(scale, inverse);
        let factor = self.spread(factor)?;
        Some(smallvec![self.multiply(rest, factor), d_scale, d_offset])
    }

    fn multiply(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.rw.binary(BinaryOp::Multiply, a, b)
    }

    /// Returns, for each feature, the sum of its elements of `value`.
    fn sum(&mut self, value: ValueId) -> Option<ValueId> {
        self.rw.sum(value, self.others.clone())
    }

    /// Divides a value for each feature, such as a sum, by the number of elements of the feature.
    fn per_element(&mut self, value: ValueId) -> Option<ValueId> {
        let count = self.rw.full(self.count, value)?;
        Some(self.rw.binary(BinaryOp::Divide, value, count))
    }

    /// Broadcasts a tensor with one value for each feature to the shape of the operand.
    fn spread(&mut self, value: ValueId) -> Option<ValueId> {
        self.rw.spread(value, smallvec![self.feature], &self.shape)
    }

    fn centered(&mut self, x: ValueId, mean: ValueId) -> Option<ValueId> {
        let mean = self.spread(mean)?;
        Some(self.rw.binary(BinaryOp::Subtract, x, mean))
    }

    fn inverse_deviation(&mut self, variance: ValueId) -> Option<ValueId> {
        let epsilon = self.rw.full(self.epsilon, variance)?;
        let sum = self.rw.binary(BinaryOp::Add, variance, epsilon);
        Some(self.rw.unary(UnaryOp::Rsqrt, sum))
    }
}
