//! Rules of broadcasts.

use shardc_ir::{BroadcastingSpec, Module, OpId};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a `broadcast_in_dim`. An operand dimension of size 1 that is expanded is not related to the result dimension,
/// since every device needs its single element.
pub(super) fn broadcast_in_dim(module: &Module, op: OpId, dims: &[u32]) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in output.iter().enumerate() {
        let mut from = dims.iter().position(|&d| d as usize == dim);
        if let Some(repeated) = from.filter(|&i| size(input, i) == 1 && n != 1) {
            // The operand dimension gets its own factor of size 1: with a common factor, sharding the result would also shard this single
            // element.
            let factor = rule.factor(1, FactorKind::PassThrough);
            rule.operand(0, repeated, factor);
            from = None;
        }
        let factor = rule.factor(n, FactorKind::PassThrough);
        if let Some(i) = from {
            rule.operand(0, i, factor);
        }
        rule.result(0, dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `broadcast`: the new dimensions come first.
pub(super) fn broadcast(module: &Module, op: OpId, new: usize) -> Option<ShardingRule> {
    let rank = operand_shape(module, op, 0)?.len();
    let dims: Vec<u32> = (new..new + rank).map(|dim| dim as u32).collect();
    broadcast_in_dim(module, op, &dims)
}

/// Relates the dimensions of a CHLO broadcasting operation. Operands of lower rank are aligned at the last dimension, or by the attribute.
/// Dimensions of size 1 are expanded.
pub(super) fn broadcasting(module: &Module, op: OpId, spec: &BroadcastingSpec) -> Option<ShardingRule> {
    let output = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in output.iter().enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        for operand in 0..module.ops[op].operands.len() {
            let Some(shape) = operand_shape(module, op, operand) else { continue };
            let from = match &spec.dims {
                Some(dims) if shape.len() < output.len() => dims.iter().position(|&d| d as usize == dim),
                _ => (dim + shape.len()).checked_sub(output.len()),
            };
            // `finish` gives an expanded dimension its own factor of size 1.
            if let Some(from) = from.filter(|&from| size(shape, from) == n) {
                rule.operand(operand, from, factor);
            }
        }
        rule.result(0, dim, factor);
    }
    Some(rule.finish())
}
