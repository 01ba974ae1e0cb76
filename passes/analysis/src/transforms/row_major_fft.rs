//! FFT layout pinning: pins `fft` results to row-major layout, for XLA's CPU client.
//!
//! The client may assign an `fft` the layout that a following `all_gather` prefers, and then fails at run time.
//!
//! ```mlir
//! %f = stablehlo.fft %y, type = FFT, length = [2] : (tensor<4x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
//! %g = "stablehlo.all_gather"(%f) ...
//! ```
//! becomes
//! ```mlir
//! %f = stablehlo.fft %y, type = FFT, length = [2] : (tensor<4x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
//! %p = stablehlo.custom_call @LayoutConstraint(%f) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], ...}
//! %g = "stablehlo.all_gather"(%p) ...
//! ```

use shardc_ir::{Module, OpKind, Rewriter};

use super::layout_constraint::pin;

/// Pins the results of all `fft` operations.
pub(super) fn pin_transforms(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            let data = &rw.module.ops[op];
            if let (OpKind::Fft { .. }, &[result]) = (&data.kind, &data.results[..]) {
                let order: Vec<usize> = (0..rw.module.rank(result)).rev().collect();
                pin(rw, result, &order);
            }
        });
    }
}
