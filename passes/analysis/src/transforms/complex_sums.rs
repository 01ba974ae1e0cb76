//! Complex reduce-scatter expansion: replaces a complex `reduce_scatter` by a `reduce_scatter` of real and imaginary parts.
//!
//! XLA's TPU compiler expands complex numbers but has no expansion of a complex `reduce_scatter` ("rewriting is not implemented"). Real and
//! imaginary parts are concatenated along a new last dimension, so that one collective sums both.
//!
//! Conditions: one operand, and the reduction is an addition.
//!
//! ```mlir
//! %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 1, ...}> : (tensor<8x6xcomplex<f32>>) -> tensor<8x3xcomplex<f32>>
//! ```
//! becomes
//! ```mlir
//! %p = stablehlo.concatenate %re, %im, dim = 2 : (tensor<8x6x1xf32>, tensor<8x6x1xf32>) -> tensor<8x6x2xf32>  // real, imag, reshaped
//! %s = "stablehlo.reduce_scatter"(%p) <{scatter_dimension = 1, ...}> : (tensor<8x6x2xf32>) -> tensor<8x3x2xf32>
//! %0 = stablehlo.complex %sum_re, %sum_im : tensor<8x3xcomplex<f32>>                                          // slices of %s, reshaped
//! ```

use shardc_ir::reducer::{collective_reduction, reducer};
use shardc_ir::{
    BinaryOp, Build, DType, Module, OpId, OpKind, ReductionKind, Rewriter, SizeList, SliceSpec, TensorBuild,
    UnaryOp, ValueId,
};

/// Replaces each complex `reduce_scatter` that meets the conditions.
pub(super) fn take_apart(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut scatter_parts);
    }
}

fn scatter_parts(rw: &mut Rewriter<'_>, op: OpId) {
    let data = &rw.module.ops[op];
    let (&OpKind::ReduceScatter { .. }, &[addend], &[result]) =
        (&data.kind, data.operands.as_slice(), data.results.as_slice())
    else {
        return;
    };
    let (kind, shape) = (data.kind.clone(), rw.module.shape(result).to_vec());
    let part = match rw.module.stored(result).map(|ty| ty.dtype) {
        Some(DType::C64) => DType::F32,
        Some(DType::C128) => DType::F64,
        _ => return,
    };
    if collective_reduction(rw.module, op) != Some(ReductionKind::Add) {
        return;
    }
    let of_two = |shape: &[i64], n: i64| [shape, &[n]].concat();
    let whole = rw.module.shape(addend).to_vec();
    let parts = [UnaryOp::Real, UnaryOp::Imag].map(|of| {
        let value = rw.tensor(OpKind::Unary(of), &[addend], &whole, part);
        rw.tensor(OpKind::Reshape, &[value], &of_two(&whole, 1), part)
    });
    let both = OpKind::Concatenate { dim: whole.len() as u32 };
    let both = rw.tensor(both, &parts, &of_two(&whole, 2), part);
    let region = reducer(rw.module, ReductionKind::Add, part);
    let ty = rw.module.types.tensor(&of_two(&shape, 2), part);
    let scattered = rw.op(kind, &[both], &[ty], &[region]);
    let scattered = rw.module.ops[scattered].results[0];
    let parts: [ValueId; 2] = [0, 1].map(|n| {
        let start: SizeList = shape.iter().map(|_| 0).chain([n]).collect();
        let limit = shape.iter().copied().chain([n + 1]).collect();
        let stride = start.iter().map(|_| 1).collect();
        let slice = OpKind::Slice(Box::new(SliceSpec { start, limit, stride }));
        let value = rw.tensor(slice, &[scattered], &of_two(&shape, 1), part);
        rw.tensor(OpKind::Reshape, &[value], &shape, part)
    });
    let ty = rw.module.values[result].ty;
    let value = rw.op1(OpKind::Binary(BinaryOp::Complex), &parts, ty);
    rw.replace(&[value]);
}
