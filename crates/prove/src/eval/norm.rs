//! Batch normalization, by the formulas of the specification.
//!
//! The mean of squares minus the square of the mean is the mean of squared distances from the mean, which is not negative. The variance is
//! the maximum of this difference and zero, which is the form that compilers use.

use shardc_ir::{BatchNormKind, BatchNormSpec, BinaryOp, OpId, ReductionKind, UnaryOp};

use super::{Eval, OrStop, Stop};
use crate::terms::{Kind, View};

/// Arithmetic on an operand and on values that have one element for each feature.
struct Norm<'e, 'm, 't> {
    eval: &'e mut Eval<'m, 't>,
    feature: u32,
    sizes: Vec<u64>,
    epsilon: f64,
}

impl Eval<'_, '_> {
    pub(super) fn batch_norm(
        &mut self,
        op: OpId,
        kind: BatchNormKind,
        spec: BatchNormSpec,
    ) -> Result<Vec<View>, Stop> {
        let args = self.operands(op)?;
        let sizes = self.sizes(self.module.ops[op].operands[0]);
        let epsilon = f64::from(spec.epsilon);
        let mut norm = Norm { eval: self, feature: spec.feature_index, sizes, epsilon };
        let found = match (kind, args.as_slice()) {
            (BatchNormKind::Inference, [x, scale, offset, mean, variance]) => {
                norm.inference(x, scale, offset, mean, variance).map(|view| vec![view])
            }
            (BatchNormKind::Training, [x, scale, offset]) => norm.training(x, scale, offset),
            (BatchNormKind::Grad, [x, scale, mean, variance, dy]) => norm.grad(x, scale, mean, variance, dy),
            _ => return Stop::rule("the operands of a batch normalization"),
        };
        found.or_stop()
    }
}

impl Norm<'_, '_, '_> {
    /// A value for each feature, as a value that is constant along the other dimensions.
    fn spread(&self, view: &View) -> View {
        view.renamed(|slot| if slot == 0 { self.feature } else { slot })
    }

    /// The sum over all dimensions but the features.
    fn sum(&mut self, view: &View) -> Option<View> {
        let (mut slots, mut reduced) = (Vec::new(), Vec::new());
        for (dim, &size) in (0u32..).zip(&self.sizes) {
            let slot = if dim == self.feature { 0 } else { self.eval.terms.fresh() };
            if dim != self.feature {
                reduced.push((slot, size));
            }
            slots.push(slot);
        }
        let view = view.renamed(|slot| slots.get(slot as usize).copied().unwrap_or(slot));
        self.eval.terms.reduce(ReductionKind::Add, Kind::Real, &view, &reduced)
    }

    fn mean(&mut self, view: &View) -> Option<View> {
        let sum = self.sum(view)?;
        self.per_element(&sum)
    }

    fn per_element(&mut self, view: &View) -> Option<View> {
        let others = self.sizes.iter().zip(0u32..).filter(|(_, dim)| *dim != self.feature);
        let count = others.map(|(&size, _)| size as f64).product();
        let count = self.eval.terms.real(Kind::Real, count);
        self.binary(BinaryOp::Divide, view, &count)
    }

    fn binary(&mut self, op: BinaryOp, a: &View, b: &View) -> Option<View> {
        self.eval.terms.binary(op, Kind::Real, a, b)
    }

    fn mul(&mut self, a: &View, b: &View) -> Option<View> {
        self.eval.terms.mul(Kind::Real, a, b)
    }

    fn subtract(&mut self, a: &View, b: &View) -> Option<View> {
        self.eval.terms.subtract(Kind::Real, a, b)
    }

    fn inverse_deviation(&mut self, variance: &View) -> Option<View> {
        let epsilon = self.eval.terms.real(Kind::Real, self.epsilon);
        let sum = self.eval.terms.add(Kind::Real, variance, &epsilon)?;
        self.eval.terms.unary(UnaryOp::Rsqrt, Kind::Real, &sum)
    }

    fn inference(
        &mut self,
        x: &View,
        scale: &View,
        offset: &View,
        mean: &View,
        variance: &View,
    ) -> Option<View> {
        let inverse = self.inverse_deviation(variance)?;
        let factor = self.mul(&inverse, scale)?;
        let centered = self.subtract(x, &self.spread(mean))?;
        let scaled = self.mul(&centered, &self.spread(&factor))?;
        self.eval.terms.add(Kind::Real, &scaled, &self.spread(offset))
    }

    fn training(&mut self, x: &View, scale: &View, offset: &View) -> Option<Vec<View>> {
        let square = self.mul(x, x)?;
        let (mean, mean_square) = (self.mean(x)?, self.mean(&square)?);
        let square_mean = self.mul(&mean, &mean)?;
        let variance = self.subtract(&mean_square, &square_mean)?;
        let zero = self.eval.terms.integer(Kind::Real, 0);
        let variance = self.binary(BinaryOp::Maximum, &variance, &zero)?;
        let result = self.inference(x, scale, offset, &mean, &variance)?;
        Some(vec![result, mean, variance])
    }

    fn grad(&mut self, x: &View, scale: &View, mean: &View, variance: &View, dy: &View) -> Option<Vec<View>> {
        let inverse = self.inverse_deviation(variance)?;
        let centered = self.subtract(x, &self.spread(mean))?;
        let product = self.mul(dy, &centered)?;
        let (d_offset, products) = (self.sum(dy)?, self.sum(&product)?);
        let d_scale = self.mul(&products, &inverse)?;
        let by_mean = self.per_element(&d_offset)?;
        let by_deviation = self.mul(&d_scale, &inverse)?;
        let by_deviation = self.per_element(&by_deviation)?;
        let by_deviation = self.mul(&centered, &self.spread(&by_deviation))?;
        let rest = self.subtract(dy, &self.spread(&by_mean))?;
        let rest = self.subtract(&rest, &by_deviation)?;
        let factor = self.mul(scale, &inverse)?;
        Some(vec![self.mul(&rest, &self.spread(&factor))?, d_scale, d_offset])
    }
}
