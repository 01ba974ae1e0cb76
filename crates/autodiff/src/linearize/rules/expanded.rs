//! Rules that expand an operation to differentiable operations.

use shardc_ir::{
    BatchNormSpec, BroadcastingOp, BroadcastingSpec, Build, Diagnostic, DimList, OpKind, TensorBuild,
    UnaryOp, ValueId,
};

use super::unsupported;
use crate::emit::{Arithmetic, Emit};
use crate::linearize::expand::Combiner;
use crate::linearize::{At, Rule};

/// Expands `map` by applying its region to tensors.
pub(super) fn map(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    let (region, operands) = {
        let data = &at.linear.module.ops[at.op];
        (data.regions[0], data.operands.clone())
    };
    let combiner = Combiner::of(at.linear.module, region).filter(|_| !operands.is_empty());
    let Some(combiner) = combiner else { return Err(unsupported(at)) };
    Ok(Rule::Instead(combiner.apply(&mut at.primal(), &operands)))
}

/// Expands `batch_norm_inference` to `(x - mean) rsqrt(variance + epsilon) scale + offset`.
pub(super) fn batch_norm_inference(
    at: &mut At<'_, '_>,
    spec: BatchNormSpec,
) -> Result<Rule, Box<Diagnostic>> {
    let operands = at.linear.module.ops[at.op].operands.clone();
    let &[x, scale, offset, mean, variance] = operands.as_slice() else { return Err(unsupported(at)) };
    let error = unsupported(at);
    let mut e = at.primal();
    let shape = e.type_of(x).shape;
    let feature = DimList::from_slice(&[spec.feature_index]);
    let epsilon = e.number(f64::from(spec.epsilon), variance);
    let positive = e.add(variance, epsilon);
    let inverse = e.unary(UnaryOp::Rsqrt, positive);
    let factor = e.mul(inverse, scale);
    let mut spread = |value: ValueId| e.spread(value, feature.clone(), &shape);
    let (Some(mean), Some(factor), Some(offset)) = (spread(mean), spread(factor), spread(offset)) else {
        return Err(error);
    };
    let centered = e.sub(x, mean);
    let scaled = e.mul(centered, factor);
    Ok(Rule::Instead(vec![e.add(scaled, offset)]))
}

/// Expands a CHLO broadcasting operation to broadcasts of the operands and an element-wise operation.
pub(super) fn broadcasting(at: &mut At<'_, '_>, spec: &BroadcastingSpec) -> Result<Rule, Box<Diagnostic>> {
    let operands = at.linear.module.ops[at.op].operands.clone();
    let result = at.linear.module.shape(at.result()).to_vec();
    let ty = at.linear.module.values[at.result()].ty;
    let error = unsupported(at);
    let mut e = at.primal();
    let mut whole = Vec::new();
    for &value in &operands {
        let rank = e.type_of(value).shape.len();
        let dims: DimList = match &spec.dims {
            Some(dims) if dims.len() == rank && rank < result.len() => dims.clone(),
            _ => ((result.len() - rank) as u32..result.len() as u32).collect(),
        };
        let Some(value) = repeated(&mut e, value, &dims, &result) else { return Err(error) };
        whole.push(value);
    }
    let kind = match spec.op {
        BroadcastingOp::Binary(op) => OpKind::Binary(op.op()),
        BroadcastingOp::Compare(direction, ty) => OpKind::Compare(direction, ty),
        BroadcastingOp::Select => OpKind::Select,
    };
    Ok(Rule::Instead(vec![e.op1(kind, &whole, ty)]))
}

/// Broadcasts `value` to `shape`: dimension `d` of `value` becomes dimension `dims[d]` of the result, and is expanded if its size is 1.
fn repeated(e: &mut Emit<'_>, value: ValueId, dims: &DimList, shape: &[i64]) -> Option<ValueId> {
    if e.module().shape(value) == shape {
        return Some(value);
    }
    e.spread(value, dims.clone(), shape)
}

/// `rng(a, b)` is `a + (b - a) u` with a uniform sample `u`, or `a + b z` with a normal sample `z`, neither of which depends on `a` and
/// `b`. A second sample would be different, so `u` or `z` is computed from the result.
pub(super) fn drawn(at: &mut At<'_, '_>, is_uniform: bool) -> Result<Option<ValueId>, Box<Diagnostic>> {
    let (a, b, y) = (at.operand(0), at.operand(1), at.result());
    let shape = at.linear.module.shape(y).to_vec();
    let error = unsupported(at);
    let (drawn, rest) = {
        let mut e = at.primal();
        let (Some(from), Some(to)) =
            (e.spread(a, DimList::new(), &shape), e.spread(b, DimList::new(), &shape))
        else {
            return Err(error);
        };
        let above = e.sub(y, from);
        let width = if is_uniform { e.sub(to, from) } else { to };
        let drawn = e.div(above, width);
        let one = e.number(1.0, y);
        (drawn, if is_uniform { e.sub(one, drawn) } else { one })
    };
    let mut changes = [None, None];
    for (i, slope) in [rest, drawn].into_iter().enumerate() {
        let Some(tangent) = at.tangent(i) else { continue };
        let mut tape = at.tape();
        let Some(tangent) = tape.spread(tangent, DimList::new(), &shape) else { return Err(unsupported(at)) };
        changes[i] = Some(tape.mul(tangent, slope));
    }
    Ok(super::sum(at, &changes))
}
