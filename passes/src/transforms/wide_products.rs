//! Products that are wider than their operands, as products of widened operands.
//!
//! XLA's CPU client multiplies `bf16` and `f16` into the same type alone. Operands are widened without loss, so that the values are
//! those of the product that was asked for.

use shardc_ir::{DType, Module, OpId, OpKind, Rewriter, TensorBuild, ValueId};

/// Widens the operands of products that give `f32` or `f64` of a narrower type of floats.
pub(super) fn widen(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut widen_operands);
    }
}

fn widen_operands(rw: &mut Rewriter<'_>, op: OpId) {
    let data = &rw.module.ops[op];
    let is_product = match &data.kind {
        OpKind::DotGeneral(spec) => spec.algorithm.is_none(),
        OpKind::Convolution(_) => true,
        _ => false,
    };
    let dtype = |&v: &ValueId| rw.module.stored(v).map(|ty| ty.dtype);
    let Some(wide) = data.results.first().and_then(dtype).filter(|_| is_product) else { return };
    let is_narrow = |v| dtype(v).is_some_and(|d| d.is_float() && d.bits() < wide.bits());
    if !matches!(wide, DType::F32 | DType::F64) || !data.operands.iter().all(is_narrow) {
        return;
    }
    let operands = data.operands.to_vec();
    for (i, operand) in operands.into_iter().enumerate() {
        let widened = rw.convert(operand, wide);
        rw.module.ops[op].operands[i] = widened;
    }
}
