//! What goes to the host's memory is whole on the device before.
//!
//! XLA's compiler for TPUs moves a call that puts a value into the host's memory up through what only gives the value another form. Where
//! that is a part of something larger, as of one `all_gather` of several parameters, all of it goes to the host, which is then asked for
//! parts: it gives none but of whole tiles, and the program is refused. XLA follows host memory through no barrier.

use shardc_ir::{Build, Module, OpKind, Rewriter, ValueId};

use crate::analysis::host_memory::moved_to_host;

/// Puts barriers before what takes parts of a value to the host's memory.
pub(super) fn hold(module: &mut Module) {
    for body in module.bodies().collect::<Vec<_>>() {
        Rewriter::new(module).each_op(body, &mut |rw, op| {
            let Some(value) = moved_to_host(rw.module, op).filter(|&value| is_part(rw.module, value)) else {
                return;
            };
            let ty = rw.module.values[value].ty;
            rw.module.ops[op].operands[0] = rw.op1(OpKind::OptimizationBarrier, &[value], ty);
        });
    }
}

/// Whether a value is a part of another one, perhaps in another form.
fn is_part(module: &Module, mut value: ValueId) -> bool {
    while let Some(op) = module.def_op(value) {
        let data = &module.ops[op];
        match data.kind {
            OpKind::Slice(_) | OpKind::DynamicSlice { .. } => return true,
            OpKind::Reshape | OpKind::Transpose { .. } => value = data.operands[0],
            _ => return false,
        }
    }
    false
}
