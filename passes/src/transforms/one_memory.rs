//! Programs for a back end that has one memory.
//!
//! XLA's CPU client takes a value's memory kind on arguments and results, and refuses the call that moves it inside of a program:
//! there, device and host are one memory, and the call hands its operand on.

use shardc_ir::{Module, OpKind, RegionId, Rewriter};

/// Takes out the calls that move values between memories.
pub(super) fn stay(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        region(&mut rw, body);
    }
}

fn region(rw: &mut Rewriter<'_>, of: RegionId) {
    rw.enter(of);
    while let Some(op) = rw.next_op() {
        for inner in rw.module.ops[op].regions.clone() {
            region(rw, inner);
        }
        let data = &rw.module.ops[op];
        let &[operand] = data.operands.as_slice() else { continue };
        if matches!(&data.kind, OpKind::CustomCall(call) if *call.target == *"annotate_device_placement") {
            rw.replace(&[operand]);
        }
    }
}
