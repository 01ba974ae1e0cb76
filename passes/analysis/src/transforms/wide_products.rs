//! Widening matmul legalization: converts the operands of a `dot_general` or `convolution` to its wider result type, for XLA's CPU client.
//!
//! The client supports `bf16` and `f16` matmuls only with a result of the same type. Widening is lossless, so the result is the same.
//!
//! Conditions: all operands are floats narrower than the result, the result is `f32` or `f64`, and the `dot_general` has no algorithm.
//!
//! ```mlir
//! %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
//! ```
//! becomes
//! ```mlir
//! %wx = stablehlo.convert %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
//! %wy = stablehlo.convert %y : (tensor<8x2xbf16>) -> tensor<8x2xf32>
//! %0 = stablehlo.dot_general %wx, %wy, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
//! ```

use shardc_ir::{DType, Module, OpId, OpKind, Rewriter, TensorBuild, ValueId};

/// Converts the operands of every `dot_general` and `convolution` that meets the conditions.
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
