//! Calls with a custom gradient function.

use shardc_ir::{OpId, OpKind, ValueId, ValueMap, clone_op};

use super::Transposed;
use crate::emit::Arithmetic;
use crate::linearize::Given;

/// Copies the body of the gradient function to the backward pass, after the operations that compute the cotangents of the results.
pub(super) fn transpose(t: &mut Transposed<'_, '_>, call: OpId, given: &Given, asked: &[Option<ValueId>]) {
    let results = t.linear.module.ops[call].results.clone();
    let mut args = given.residuals.clone();
    for (&result, &ct) in results.iter().zip(asked) {
        args.push(match ct {
            Some(ct) => ct,
            None => t.emit(call).zeros_like(result),
        });
    }
    let Some(body) = t.linear.module.funcs[given.backward].body else { return };
    let mut map = ValueMap::new();
    for (&param, arg) in t.linear.module.regions[body].args.iter().zip(args) {
        map.insert(param, arg);
    }
    let ops = t.linear.module.regions[body].ops.to_vec();
    for op in ops {
        if matches!(t.linear.module.ops[op].kind, OpKind::Return) {
            let returned: Vec<ValueId> =
                t.linear.module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
            for (tangent, value) in given.operands.iter().zip(returned) {
                if let Some(tangent) = *tangent {
                    t.ask(tangent, value);
                }
            }
        } else {
            let copy = clone_op(t.linear.module, op, &mut map);
            t.ops.push(copy);
        }
    }
}
