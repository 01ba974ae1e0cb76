//! Removes memory placement calls for a back end with only one memory space.
//!
//! XLA's CPU client accepts memory kinds of arguments and results, but rejects `annotate_device_placement` within a program. Its device
//! and host memory are the same, so the call is replaced by its operand.
//!
//! ```mlir
//! %0 = stablehlo.custom_call @annotate_device_placement(%x) {...} : (tensor<8xf32>) -> tensor<8xf32>
//! %1 = stablehlo.sine %0 : tensor<8xf32>
//! ```
//! becomes
//! ```mlir
//! %1 = stablehlo.sine %x : tensor<8xf32>
//! ```

use shardc_ir::{Module, OpKind, Rewriter};

/// Removes the calls that transfer values between memory spaces.
pub(super) fn stay(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            let data = &rw.module.ops[op];
            if let &[operand] = data.operands.as_slice()
                && matches!(&data.kind, OpKind::CustomCall(call) if *call.target == *"annotate_device_placement")
            {
                rw.replace(&[operand]);
            }
        });
    }
}
