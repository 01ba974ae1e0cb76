//! Calls that keep a value in an order of its dimensions, for which XLA has a name: `LayoutConstraint`.

use shardc_ir::{Attr, CustomCallSpec, OpId, OpKind, Rewriter};

/// Has what follows read the first result of an operation through a call that keeps it in an order of its dimensions, the one whose
/// elements lie side by side first.
pub(super) fn pin_result(rw: &mut Rewriter<'_>, op: OpId, minor_to_major: &[usize]) {
    let Some(&result) = rw.module.ops[op].results.first() else { return };
    let order: Vec<String> = minor_to_major.iter().map(usize::to_string).collect();
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
