//! Results of Fourier transforms in row-major order, for a back end that could not make them in another.
//!
//! XLA's CPU client lets a transform take over the order of dimensions that an `all_gather` after it wants, and then refuses at
//! run time to do it in that order. [`pin`] has what follows read the result through a call that keeps it in row-major order,
//! for which XLA has a name.

use shardc_ir::{Attr, CustomCallSpec, Module, OpId, OpKind, Rewriter};

/// Pins the results of all transforms.
pub(super) fn pin(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            if matches!(rw.module.ops[op].kind, OpKind::Fft { .. }) {
                pin_result(rw, op);
            }
        });
    }
}

fn pin_result(rw: &mut Rewriter<'_>, op: OpId) {
    let Some(&result) = rw.module.ops[op].results.first() else { return };
    let order: Vec<String> = (0..rw.module.rank(result)).rev().map(|d| d.to_string()).collect();
    let order = format!("dense<[{}]> : tensor<{}xindex>", order.join(", "), order.len());
    let layouts = Attr::Array(vec![Attr::Raw(order.into())]);
    let mut call = CustomCallSpec { target: "LayoutConstraint".into(), ..CustomCallSpec::default() };
    call.props.set("operand_layouts", layouts.clone());
    call.props.set("result_layouts", layouts);
    let ty = rw.module.values[result].ty;
    rw.keep();
    let pinned = rw.op1_like(op, OpKind::CustomCall(Box::new(call)), &[result], ty);
    rw.stand_for(result, pinned);
}
