//! `bitcast_convert`: the bits of a number have no derivative.
//!
//! A result that is only compared, or converted as an integer, is piecewise constant. If the integers become numbers again, as in `frexp`,
//! or in the `@lgamma_impl` of JAX 0.12, the function is not constant, and a derivative of zero would be wrong.

use rustc_hash::FxHashSet;
use shardc_ir::{DType, Diagnostic, OpKind, ValueId};

use super::{Rule, unsupported};
use crate::linearize::At;

/// Returns no tangent, or an error if the bits of a differentiated number become a number again.
pub(super) fn bitcast(at: &mut At<'_, '_>) -> Result<Rule, Box<Diagnostic>> {
    if at.tangent(0).is_some() && becomes_number(at) { Err(unsupported(at)) } else { Ok(Rule::nothing(1)) }
}

/// Whether integers that are computed from the result are cast back to floating-point numbers.
fn becomes_number(at: &mut At<'_, '_>) -> bool {
    let mut pending = vec![at.result()];
    let mut seen: FxHashSet<ValueId> = pending.iter().copied().collect();
    while let Some(value) = pending.pop() {
        for user in at.linear.users(value) {
            let module = &*at.linear.module;
            let data = &module.ops[user];
            for &result in &data.results {
                let Some(dtype) = module.tensor(result).map(|ty| ty.dtype) else { continue };
                let is_number = dtype.is_float();
                if is_number && data.kind == OpKind::BitcastConvert {
                    return true;
                }
                if !is_number && dtype != DType::I1 && seen.insert(result) {
                    pending.push(result);
                }
            }
        }
    }
    false
}
