//! Gradient layout assignment: pins gradients to the layout of the parameter that they update, for XLA's TPU compiler.
//!
//! In XLA's TPU compiler, element-wise operations have the layout of their operands. Some operations choose their own layout:
//!
//! * a `scatter` adds to whole rows, along the lanes of a tile;
//! * an `all_to_all` whose concatenated dimension is not the first one is an exchange of whole blocks and a transpose, which becomes a
//!   layout change;
//! * the transpose after the matmul that produces most gradients also becomes a layout change, and small gradients are all-reduced in
//!   that layout.
//!
//! If the result of such an operation is a gradient, the parameter update runs in the layout of the gradient. The parameter and the
//! optimizer state are stored in the layout with the least padding, so they are copied at the start of the step and back at its end. Until
//! then, there are two copies. If rows are short, the copy is many times larger, because each row is padded to the 128 lanes of a tile.
//! With a pinned gradient layout, at most the gradient is copied: most matmuls can produce either layout.
//!
//! ```mlir
//! %g = "stablehlo.all_to_all"(%rows) <{concat_dimension = 1 : i64, split_dimension = 0 : i64, ...}>
//!   : (tensor<8x128xf32>) -> tensor<4x256xf32>
//! %m = stablehlo.add %momentum, %g : tensor<4x256xf32>
//! ```
//! becomes
//! ```mlir
//! %g = "stablehlo.all_to_all"(%rows) ...
//! %p = stablehlo.custom_call @LayoutConstraint(%g) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], ...}
//! %m = stablehlo.add %momentum, %p : tensor<4x256xf32>
//! ```

use shardc_ir::{Module, Rewriter};

use super::layout_constraint::pin;
use crate::analysis::gradient_orders::orders_of_gradients;

/// Pins gradients whose layout would differ from that of parameters.
pub(super) fn pin_gradients(module: &mut Module) {
    let Some(body) = module.entry().and_then(|entry| module.funcs[entry].body) else { return };
    let orders = orders_of_gradients(module, body);
    if orders.is_empty() {
        return;
    }
    let mut rw = Rewriter::new(module);
    rw.each_op(body, &mut |rw, op| {
        for result in rw.module.ops[op].results.clone() {
            if let Some(order) = orders.get(&result) {
                pin(rw, result, order);
            }
        }
    });
}
