//! Host offload isolation: inserts an optimization barrier between a slice and its transfer to host memory, for XLA's TPU compiler.
//!
//! XLA's TPU compiler moves host-placement calls up through reshapes and transposes. If it meets a slice of a larger value, such as one
//! `all_gather` of several parameters, it places the whole value on the host. It then slices on the host, which it supports only for
//! whole tiles, and rejects the program. XLA does not move host placement through barriers.
//!
//! Conditions: the moved value is a `slice` or `dynamic_slice`, perhaps reshaped or transposed.
//!
//! ```mlir
//! %part = stablehlo.slice %all [0:2, 0:16] : (tensor<2x24xf32>) -> tensor<2x16xf32>
//! %0 = stablehlo.reshape %part : (tensor<2x16xf32>) -> tensor<32xf32>
//! %1 = stablehlo.custom_call @annotate_device_placement(%0) {... _xla_buffer_placement = "pinned_host" ...}
//! ```
//! becomes
//! ```mlir
//! %part = stablehlo.slice %all [0:2, 0:16] : (tensor<2x24xf32>) -> tensor<2x16xf32>
//! %0 = stablehlo.reshape %part : (tensor<2x16xf32>) -> tensor<32xf32>
//! %held = stablehlo.optimization_barrier %0 : tensor<32xf32>
//! %1 = stablehlo.custom_call @annotate_device_placement(%held) {... _xla_buffer_placement = "pinned_host" ...}
//! ```

use shardc_ir::{Build, Module, OpKind, Rewriter, ValueId};

use crate::analysis::host_memory::moved_to_host;

/// Inserts barriers before slices are moved to host memory.
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

/// Whether a value is a slice of another value, perhaps reshaped or transposed.
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
