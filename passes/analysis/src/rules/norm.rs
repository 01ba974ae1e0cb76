//! Rules of batch normalization.

use shardc_ir::{BatchNormKind, BatchNormSpec, Module, OpId};

use super::builder::{RuleBuilder, operand_shape};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a batch normalization: all tensors have the feature dimension. Training and its gradient reduce over all other
/// dimensions, but inference does not.
pub(super) fn batch_norm(
    module: &Module,
    op: OpId,
    kind: BatchNormKind,
    spec: BatchNormSpec,
) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let data = &module.ops[op];
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        if dim == spec.feature_index as usize {
            let factor = rule.factor(n, FactorKind::PassThrough);
            for i in 0..data.operands.len() {
                let whole = operand_shape(module, op, i)?.len() == shape.len() && is_whole_operand(kind, i);
                rule.operand(i, if whole { dim } else { 0 }, factor);
            }
            for i in 0..data.results.len() {
                // The first result has the operand's shape; mean and variance, or the gradients of scale and offset, have only the
                // feature dimension.
                rule.result(i, if i == 0 { dim } else { 0 }, factor);
            }
        } else {
            let other = match kind {
                BatchNormKind::Inference => FactorKind::PassThrough,
                BatchNormKind::Training | BatchNormKind::Grad => FactorKind::NeedReplication,
            };
            let factor = rule.factor(n, other);
            for i in (0..data.operands.len()).filter(|&i| is_whole_operand(kind, i)) {
                rule.operand(i, dim, factor);
            }
            rule.result(0, dim, factor);
        }
    }
    Some(rule.finish())
}

/// Whether an operand has all dimensions, not only the feature dimension.
fn is_whole_operand(kind: BatchNormKind, i: usize) -> bool {
    match kind {
        BatchNormKind::Training | BatchNormKind::Inference => i == 0,
        BatchNormKind::Grad => i == 0 || i == 4,
    }
}
