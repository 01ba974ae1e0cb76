//! Results of Fourier transforms in row-major order, for a back end that could not make them in another.
//!
//! XLA's CPU client lets a transform take over the order of dimensions that an `all_gather` after it wants, and then refuses at
//! run time to do it in that order.

use shardc_ir::{Module, OpKind, Rewriter};

use super::layout_constraint::pin;

/// Pins the results of all transforms.
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
