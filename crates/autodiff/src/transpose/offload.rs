//! Host offload of residuals.
//!
//! A residual is copied to pinned host memory after its producer, and back before its first use in the backward pass. Both copies are calls
//! of XLA's `annotate_device_placement`, as in JAX for `jax.device_put` within a program; a back end without pinned host memory ignores
//! them.

use rustc_hash::FxHashMap;
use shardc_ir::{Attr, AttrDict, Build, CustomCallSpec, Module, OpId, OpKind, RegionId, ValueId};

use super::Transposed;
use super::residuals::free_values;
use crate::emit::Emit;
use crate::replace::{for_each_under, replace};

/// The host memory space that devices access directly.
pub(super) const HOST: &str = "pinned_host";
/// Device memory.
pub(super) const DEVICE: &str = "device";

/// Makes `ops`, the backward pass, read values of a region from host memory if the policy requests it. Returns `ops` with the copies from
/// host to device inserted.
pub(super) fn offload(t: &mut Transposed<'_, '_>, region: RegionId, ops: Vec<OpId>) -> Vec<OpId> {
    let needed = free_values(t.linear.module, region, &ops);
    let goes = |value: &ValueId| {
        let linear = &*t.linear;
        linear.checkpoint.offload.takes(linear.module, *value) && !linear.at_host.contains(value)
    };
    let away: Vec<ValueId> = needed.into_iter().filter(goes).collect();
    if away.is_empty() {
        return ops;
    }
    let mut stored: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let mut forward = Vec::with_capacity(t.linear.module.regions[region].ops.len() + away.len());
    for op in t.linear.module.regions[region].ops.clone() {
        forward.push(op);
        for value in t.linear.module.ops[op].results.clone() {
            if away.contains(&value) {
                let mut e = Emit::new(t.linear.module, &mut forward, op);
                stored.insert(value, placed(&mut e, value, HOST));
            }
        }
    }
    t.linear.module.set_ops(region, forward);
    let mut back: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let mut out = Vec::with_capacity(ops.len() + away.len());
    for op in ops {
        for value in read_under(t.linear.module, op) {
            if let (Some(&host), false) = (stored.get(&value), back.contains_key(&value)) {
                let mut e = Emit::new(t.linear.module, &mut out, op);
                back.insert(value, placed(&mut e, host, DEVICE));
            }
        }
        replace(t.linear.module, &[op], &back);
        out.push(op);
    }
    out
}

/// The operands of an operation and of the operations in its regions.
fn read_under(module: &Module, op: OpId) -> Vec<ValueId> {
    let mut read = Vec::new();
    for_each_under(module, &[op], |op| read.extend(module.ops[op].operands.iter().copied()));
    read
}

/// Copies a value to another memory space.
pub(super) fn placed(e: &mut Emit<'_>, value: ValueId, memory: &str) -> ValueId {
    let mut call = CustomCallSpec { target: "annotate_device_placement".into(), ..CustomCallSpec::default() };
    call.props.set("has_side_effect", Attr::Bool(true));
    let ty = e.module().values[value].ty;
    let placed = e.op1(OpKind::CustomCall(Box::new(call)), &[value], ty);
    let mut attrs = AttrDict::new();
    attrs.set("_xla_buffer_placement", Attr::Str(memory.into()));
    let module = e.module();
    if let Some(op) = module.def_op(placed) {
        module.ops[op].attrs.set_frontend(attrs);
    }
    placed
}
