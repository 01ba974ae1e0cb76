//! Duplicate donation removal: removes the input-output alias of a result if an earlier result returns the same value.
//!
//! If a value is returned in the buffers of several donated arguments, XLA's GPU compiler copies it. CUDA plugin 0.11.2 removes some of
//! these copies, so that the arguments share a buffer and their users read the same data. A step that resets several gradient accumulators
//! to the same zero is such a program.
//!
//! ```mlir
//! func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32> {tf.aliasing_output = 1 : i32}) ... {
//!   return %zero, %zero : tensor<4xf32>, tensor<4xf32>    // the alias of %b is removed
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{Module, ValueId};

/// Removes the donation of an argument to a result if an earlier result returns the same value.
pub(super) fn keep(module: &mut Module) {
    let Some(entry) = module.entry() else { return };
    let Some(results) = module.funcs[entry].body.and_then(|body| module.terminator(body)) else { return };
    let mut seen: FxHashSet<ValueId> = FxHashSet::default();
    let again: Vec<bool> = module.ops[results].operands.iter().map(|&value| !seen.insert(value)).collect();
    for attrs in &mut module.funcs[entry].arg_attrs {
        if attrs.donated_to().is_some_and(|result| again.get(result).copied().unwrap_or(false)) {
            attrs.remove_donation();
        }
    }
}
