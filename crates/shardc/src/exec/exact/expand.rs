//! The form of programs that are compared in exact arithmetic.

use std::borrow::Cow;

use shardc_ir::{Module, OpKind};
use shardc_passes::transforms::decompose::{decompose, is_needed};

use crate::Error;
use crate::exec::program::global_form;

/// The module in operations whose degrees are known.
pub(super) fn expanded(module: &Module) -> Result<Cow<'_, Module>, Error> {
    let mut plain = global_form(module)?;
    for body in plain.bodies().filter(|&body| is_needed(&plain, body)).collect::<Vec<_>>() {
        decompose(plain.to_mut(), body);
    }
    Ok(plain)
}

/// The module without batch normalization, which has several formulas. They are equal because of an identity, such as that `rsqrt` is the
/// inverse of `sqrt`, which does not hold for random functions. So it is expanded as in partitioned programs.
pub(super) fn prepared(module: &Module) -> Result<Cow<'_, Module>, Error> {
    match module.ops.values().any(|op| matches!(op.kind, OpKind::BatchNorm(..))) {
        true => expanded(module),
        false => global_form(module),
    }
}
