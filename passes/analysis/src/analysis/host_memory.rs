//! Finds values that are transferred between device and host memory.

use shardc_ir::{Attr, Module, OpId, OpKind, ValueId};

/// Returns the operand that an operation transfers to host memory. JAX lowers `jax.device_put` inside a program to
/// the custom call `annotate_device_placement`.
pub fn moved_to_host(module: &Module, op: OpId) -> Option<ValueId> {
    let data = &module.ops[op];
    let OpKind::CustomCall(call) = &data.kind else { return None };
    let place = data.attrs.frontend()?.get("_xla_buffer_placement")?;
    let is_call = *call.target == *"annotate_device_placement";
    let is_host = matches!(place, Attr::Str(place) if place.ends_with("_host"));
    (is_call && is_host).then_some(*data.operands.first()?)
}
