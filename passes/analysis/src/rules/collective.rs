//! Rules of collectives in the input program.

use shardc_ir::{Module, OpId};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a collective. The dimensions in `dims`, whose sizes the collective changes, need replication in operand and
/// result and are not related; the others are pass-through.
pub(super) fn replicated_dims(module: &Module, op: OpId, dims: &[usize]) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in input.iter().enumerate() {
        if !dims.contains(&dim) {
            rule.everywhere(dim, n, FactorKind::PassThrough);
        }
    }
    for (i, &dim) in dims.iter().enumerate() {
        // An `all_to_all` may split and concatenate the same dimension.
        if dims[..i].contains(&dim) {
            continue;
        }
        let factor = rule.factor(size(input, dim), FactorKind::NeedReplication);
        rule.operands(dim, factor);
        let factor = rule.factor(size(output, dim), FactorKind::NeedReplication);
        rule.results(dim, factor);
    }
    Some(rule.finish())
}
