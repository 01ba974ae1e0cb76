//! Custom calls whose meaning is known.

use shardc_ir::{Module, OpId, OpKind};

use super::builder::{RuleBuilder, operand_shape, pointwise, result_shape, size};
use crate::rule::{FactorKind, ShardingRule};

/// The rule of a custom call; `None` for one that shardc does not know.
pub(super) fn custom_call(module: &Module, op: OpId, target: &str) -> Option<ShardingRule> {
    match target {
        "annotate_device_placement"
        | "Cholesky"
        | "CompactWyHelper"
        | "InspectSharding"
        | "InvertDiagBlocksLowerTriangular"
        | "InvertDiagBlocksUpperTriangular"
        | "LayoutConstraint"
        | "mhlo.erf"
        | "MoveToDevice"
        | "MoveToHost"
        | "X64SplitHigh"
        | "X64SplitLow"
        | "xla.megascale.provide_metadata"
        | "_SPMDInternalOp_MultiPad"
        | "_SPMDInternalOp_RotateRight"
        | "_SPMDInternalOp_MultiRotate"
        | "_SPMDInternalOp_MultiSlice"
        | "_SPMDInternalOp_Wrap" => pointwise(module, op),
        "Eigh" => eigh(module, op),
        "Qr" | "QrDecompositionBlock" => qr(module, op),
        "ProductOfElementaryHouseholderReflectors" => householder_product(module, op),
        "mhlo.topk" => top_k(module, op),
        "ApproxTopK" | "PartialReduce" => approx_top_k(module, op),
        "X64Combine" => x64_combine(module, op),
        _ => None,
    }
}

/// Matrix in; eigenvectors and eigenvalues out.
fn eigh(module: &Module, op: OpId) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    let factor = rule.factor(shape[row], FactorKind::PassThrough);
    rule.operands(row, factor).result(0, row, factor);
    let factor = rule.factor(shape[column], FactorKind::PassThrough);
    rule.operands(column, factor).result(0, column, factor).result(1, row, factor);
    Some(rule.finish())
}

/// Matrix in; packed factors and the scalars of the reflectors out.
fn qr(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (shape, taus) = (operand_shape(module, op, 0)?, result_shape(module, op, 1)?);
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    for dim in [row, column] {
        let factor = rule.factor(shape[dim], FactorKind::NeedReplication);
        rule.operands(dim, factor).result(0, dim, factor);
    }
    let factor = rule.factor(size(taus, row), FactorKind::NeedReplication);
    rule.result(1, row, factor);
    Some(rule.finish())
}

/// Packed factors and the scalars of the reflectors in; an orthogonal matrix out.
fn householder_product(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (shape, taus) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let (row, column) = (shape.len().checked_sub(2)?, shape.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&shape[..row]);
    for dim in [row, column] {
        let factor = rule.factor(shape[dim], FactorKind::NeedReplication);
        rule.operand(0, dim, factor).results(dim, factor);
    }
    let factor = rule.factor(size(taus, row), FactorKind::NeedReplication);
    rule.operand(1, row, factor);
    Some(rule.finish())
}

/// The dimension that is searched is needed whole.
fn top_k(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise_or(input, output, FactorKind::NeedReplication, true);
    Some(rule.finish())
}

/// Values, their indices and two scalars in. Each device may reduce its own part of the searched dimension.
fn approx_top_k(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, (&n, &m)) in input.iter().zip(output).enumerate() {
        if n == m {
            rule.everywhere(dim, n, FactorKind::PassThrough);
        } else {
            let factor = rule.factor(n, FactorKind::PassThrough);
            rule.operand(0, dim, factor).operand(1, dim, factor);
            let factor = rule.blocked(m, FactorKind::NeedReplication, true);
            rule.results(dim, factor);
        }
    }
    Some(rule.finish())
}

/// The state of a random number generator stays whole.
fn x64_combine(module: &Module, op: OpId) -> Option<ShardingRule> {
    let result = *module.ops[op].results.first()?;
    let is_state = module
        .ops
        .values()
        .any(|o| matches!(o.kind, OpKind::RngBitGenerator { .. }) && o.operands.contains(&result));
    if !is_state {
        return pointwise(module, op);
    }
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let factor = rule.blocked(n, FactorKind::NeedReplication, true);
        rule.operands(dim, factor).results(dim, factor);
    }
    Some(rule.finish())
}
