//! Values that move between the memory of the device and that of the host.

use shardc_ir::{Attr, Module, OpId, OpKind, ValueId};

/// Returns the operand of an operation that moves it to the memory of the host: JAX writes `jax.device_put` inside of a program as
/// the call `annotate_device_placement`.
pub(crate) fn moved_to_host(module: &Module, op: OpId) -> Option<ValueId> {
    let data = &module.ops[op];
    let OpKind::CustomCall(call) = &data.kind else { return None };
    let place = data.attrs.frontend()?.get("_xla_buffer_placement")?;
    let is_call = *call.target == *"annotate_device_placement";
    let is_host = matches!(place, Attr::Str(place) if place.ends_with("_host"));
    (is_call && is_host).then_some(*data.operands.first()?)
}
