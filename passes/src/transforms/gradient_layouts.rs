//! Gradients as the parameters lie that they update, for a back end that would have these lie as gradients do.
//!
//! XLA's TPU compiler lets operations on elements take over the order of dimensions of what they read. Some values are made in an
//! order of their own:
//!
//! * a `scatter` adds to whole rows, along the lanes of a tile;
//! * an `all_to_all` that joins the parts along another dimension than the first is one of whole parts and a transpose, which becomes a
//!   matter of order;
//! * so does the transpose behind the product of which most gradients come, and devices sum small ones in that order.
//!
//! Where such a value is a gradient, the update is in its order: the parameter and the optimiser's state, which lie as pads them
//! least, are copied into it as the step starts and back at its end, and have their memory twice meanwhile, and many times if rows are
//! few elements: each takes a tile's 128. Where the gradient is kept in the order of the parameter, it alone is copied, if anything is:
//! most products can be made in either order.

use shardc_ir::{Module, Rewriter};

use super::layout_constraint::pin;
use crate::analysis::gradient_orders::orders_of_gradients;

/// Pins gradients that would be in another order than parameters lie in.
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
