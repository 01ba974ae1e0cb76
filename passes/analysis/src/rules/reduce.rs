//! Rules of reductions and windows.

use shardc_ir::{Module, OpId, WindowSpec};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a `reduce`: reduced dimensions are only in the inputs; the initial values are scalars.
pub(super) fn reduce(module: &Module, op: OpId, dims: &[u32]) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let inputs = module.ops[op].operands.len() / 2;
    let mut rule = RuleBuilder::new(module, op);
    let mut out = 0;
    for (dim, &n) in shape.iter().enumerate() {
        let reduced = dims.contains(&(dim as u32));
        let factor = rule.factor(n, if reduced { FactorKind::Reduction } else { FactorKind::PassThrough });
        for i in 0..inputs {
            rule.operand(i, dim, factor);
        }
        if !reduced {
            rule.results(out, factor);
            out += 1;
        }
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `reduce_window`: a dimension may be sharded across windows, with a halo exchange.
pub(super) fn reduce_window(
    module: &Module,
    op: OpId,
    spec: &WindowSpec,
    conservative: bool,
) -> Option<ShardingRule> {
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let factor = if is_identity(spec, dim) {
            rule.factor(n, FactorKind::PassThrough)
        } else {
            rule.blocked(n, FactorKind::Permutation, conservative)
        };
        rule.operands(dim, factor).results(dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `select_and_scatter`: operand and result correspond. The source needs replication, unless windows are
/// single elements.
pub(super) fn select_and_scatter(
    module: &Module,
    op: OpId,
    spec: &WindowSpec,
    conservative: bool,
) -> Option<ShardingRule> {
    let (shape, source) = (result_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        if is_identity(spec, dim) {
            rule.everywhere(dim, n, FactorKind::PassThrough);
            continue;
        }
        let factor = rule.blocked(size(source, dim), FactorKind::NeedReplication, conservative);
        rule.operand(1, dim, factor);
        let factor = rule.blocked(n, FactorKind::Permutation, conservative);
        rule.operand(0, dim, factor).result(0, dim, factor);
    }
    Some(rule.finish())
}

/// Whether windows along `dim` have one element, stride 1 and no padding.
fn is_identity(spec: &WindowSpec, dim: usize) -> bool {
    let one = |list: &[i64]| list.get(dim).is_none_or(|&n| n == 1);
    spec.padding.get(dim).is_none_or(|&p| p == (0, 0)) && one(&spec.strides) && one(&spec.dimensions)
}
