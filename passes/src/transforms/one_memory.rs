//! Programs for a back end that has one memory.
//!
//! XLA's CPU client takes a value's memory kind on arguments and results, and refuses the call that moves it inside of a program:
//! there, device and host are one memory, and the call hands its operand on.

use shardc_ir::{Module, OpKind, Rewriter};

/// Takes out the calls that move values between memories.
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
