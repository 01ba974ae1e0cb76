//! Values in row-major order, where a back end would choose a worse one, or one that it cannot make.
//!
//! XLA's CPU client lets a Fourier transform take over the order of dimensions that an `all_gather` after it wants, and then
//! refuses at run time to do it in that order: [`pin_transforms`].
//!
//! An `all_to_all` that joins the parts along another dimension than the first is one of whole parts and a transpose to XLA. Its
//! TPU compiler makes the transpose a matter of order, and where the result is a gradient, it has the update in that order:
//! the parameter and the optimiser's state, which arguments bring in row-major order, are copied into it as the step starts and
//! back at its end, and have their memory twice meanwhile. In row-major order the gradient alone is copied:
//! [`pin_exchanged_gradients`].
//!
//! What follows reads the value through a call that keeps it in row-major order, for which XLA has a name.

use rustc_hash::FxHashSet;
use shardc_ir::{Attr, CustomCallSpec, Module, OpId, OpKind, Rewriter, ValueId};

use crate::propagate::is_elementwise;

/// The elements of a TPU's tile along a value's last dimension. Parts that do not fill tiles are written anew wherever they are
/// joined, in any order.
const LANES: i64 = 128;

/// Pins the results of all Fourier transforms.
pub(super) fn pin_transforms(module: &mut Module) {
    let mut rw = Rewriter::new(module);
    for body in rw.module.bodies().collect::<Vec<_>>() {
        rw.each_op(body, &mut |rw, op| {
            if matches!(rw.module.ops[op].kind, OpKind::Fft { .. }) {
                pin_result(rw, op);
            }
        });
    }
}

/// Pins the results of exchanges that the entry function's results are updated by element by element.
pub(super) fn pin_exchanged_gradients(module: &mut Module) {
    let exchanges = exchanged_gradients(module);
    let Some(body) =
        module.entry().and_then(|entry| module.funcs[entry].body).filter(|_| !exchanges.is_empty())
    else {
        return;
    };
    let mut rw = Rewriter::new(module);
    rw.each_op(body, &mut |rw, op| {
        if exchanges.contains(&op) {
            pin_result(rw, op);
        }
    });
}

/// Returns the exchanges that results depend on through nothing but operations of one element each, with parts that fill tiles.
fn exchanged_gradients(module: &Module) -> FxHashSet<OpId> {
    let entry = module.entry().and_then(|entry| module.funcs[entry].body);
    let results = entry.and_then(|body| module.terminator(body)).map(|end| &module.ops[end].operands);
    let mut todo: Vec<ValueId> = results.into_iter().flatten().copied().collect();
    let mut seen: FxHashSet<OpId> = FxHashSet::default();
    let mut exchanges = FxHashSet::default();
    while let Some(value) = todo.pop() {
        let Some(op) = module.def_op(value).filter(|&op| seen.insert(op)) else { continue };
        if is_joined_later(module, op) {
            exchanges.insert(op);
        } else if is_elementwise(module, op) {
            let shape = module.shape(value);
            todo.extend(module.ops[op].operands.iter().filter(|&&operand| module.shape(operand) == shape));
        }
    }
    exchanges
}

/// Whether it is an `all_to_all` that joins the parts along a dimension behind the one that it splits, without padding.
fn is_joined_later(module: &Module, op: OpId) -> bool {
    let OpKind::AllToAll { split_dim, concat_dim, .. } = module.ops[op].kind else { return false };
    let part = module.shape(module.ops[op].operands[0]);
    concat_dim > split_dim && part.last().is_some_and(|&n| n % LANES == 0)
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
