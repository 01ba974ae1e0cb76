//! Pins layouts with XLA's custom call `LayoutConstraint`.

use shardc_ir::{Attr, Build, CustomCallSpec, OpKind, Rewriter, ValueId};

/// Makes users of a result of the current operation read it through a `LayoutConstraint` with the layout `minor_to_major`, which lists the
/// most minor dimension first.
pub(super) fn pin(rw: &mut Rewriter<'_>, result: ValueId, minor_to_major: &[usize]) {
    let order: Vec<String> = minor_to_major.iter().map(usize::to_string).collect();
    let order = format!("dense<[{}]> : tensor<{}xindex>", order.join(", "), order.len());
    let layouts = Attr::Array(vec![Attr::Raw(order.into())]);
    let mut call = CustomCallSpec { target: "LayoutConstraint".into(), ..CustomCallSpec::default() };
    call.props.set("operand_layouts", layouts.clone());
    call.props.set("result_layouts", layouts);
    let ty = rw.module.values[result].ty;
    rw.keep();
    let pinned = rw.op1(OpKind::CustomCall(Box::new(call)), &[result], ty);
    rw.stand_for(result, pinned);
}
