//! Determines the signatures of calls of separately partitioned functions: their argument and result shardings.

use shardc_ir::{Diagnostic, Module, OpKind, RegionId, TensorSharding, ValueId};

use super::KeptFunctions;
use crate::sharding::signature::{Signature, Signatures};

/// Writes the signature (operand and result shardings) of each call of a separately partitioned function in a planned body to the target of
/// its custom call.
///
/// # Errors
/// Returns an internal error if a call has a tensor without a sharding, or an unreduced value.
pub(in crate::driver) fn sign_calls(
    module: &mut Module,
    body: RegionId,
    kept: &KeptFunctions,
) -> Result<Signatures, Vec<Diagnostic>> {
    let mut signatures = Signatures::default();
    if kept.is_empty() {
        return Ok(signatures);
    }
    for op in module.walk(body) {
        let data = &module.ops[op];
        let OpKind::CustomCall(spec) = &data.kind else { continue };
        let Some(function) = spec.kept_callee().and_then(|name| kept.find(name)) else { continue };
        let placements = |values: &[ValueId]| -> Option<Vec<TensorSharding>> {
            let sharding = |&v: &ValueId| module.shardings.sharding_of(v).filter(|s| s.unreduced.is_empty());
            values.iter().map(|v| sharding(v).map(TensorSharding::closed)).collect()
        };
        let (Some(operands), Some(results)) = (placements(&data.operands), placements(&data.results)) else {
            let message = format!("{} was not planned", data.kind.title());
            return Err(vec![Diagnostic::internal("SH0390", message).at(data.span)]);
        };
        let target = signatures.target(Signature { function, operands, results });
        if let OpKind::CustomCall(spec) = &mut module.ops[op].kind {
            spec.target = target;
        }
    }
    Ok(signatures)
}
