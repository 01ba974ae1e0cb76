//! Rules of dynamic operations, which have operands in place of attributes, and of operations on dimension sizes.
//!
//! Factors have static sizes, so result shapes must be static.

use shardc_ir::{DynamicOp, Module, OpId, TensorType};

use super::builder::{RuleBuilder, operand_shape, result_shape};
use super::{broadcast, contract, index, shape};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Returns the rule of a dynamic operation, which is the rule of the corresponding static operation.
pub(super) fn dynamic(
    module: &Module,
    op: OpId,
    kind: &DynamicOp,
    conservative: bool,
) -> Option<ShardingRule> {
    let data = &module.ops[op];
    let mut values = data.operands.iter().chain(&data.results);
    if !values.all(|&v| module.stored(v).is_some_and(TensorType::is_static)) {
        return None;
    }
    match kind {
        DynamicOp::Reshape => shape::reshape(module, op),
        DynamicOp::BroadcastInDim(spec) => broadcast::broadcast_in_dim(module, op, &spec.dims),
        DynamicOp::Iota { .. } => None,
        DynamicOp::Pad | DynamicOp::RealSlice => moved(module, op),
        DynamicOp::Gather(spec) => index::gather(module, op, spec),
        DynamicOp::Convolution(spec) => contract::convolution(module, op, spec, conservative),
    }
}

/// Relates the dimensions of a dynamic `pad` or `slice`: elements shift by unknown distances, so nothing propagates along dimensions
/// whose size changes.
fn moved(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, (&n, &m)) in input.iter().zip(output).enumerate() {
        let factor = if n == m {
            rule.factor(n, FactorKind::PassThrough)
        } else {
            rule.blocked(n, FactorKind::NeedReplication, true)
        };
        rule.operand(0, dim, factor).result(0, dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `get_dimension_size`: the operand may be sharded, since the global size is in its type.
pub(super) fn get_dimension_size(module: &Module, op: OpId) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        rule.operand(0, dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `set_dimension_size`: the dimension whose size is set needs replication.
pub(super) fn set_dimension_size(module: &Module, op: OpId, along: usize) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let kind = if dim == along { FactorKind::NeedReplication } else { FactorKind::PassThrough };
        rule.everywhere(dim, n, kind);
    }
    Some(rule.finish())
}
