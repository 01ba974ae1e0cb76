//! Rules of sorting, FFT, random numbers and linear algebra: batch dimensions are pass-through, and others need replication.

use shardc_ir::{Module, OpId, Transposition, TriangularSpec};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a `sort`. Propagation along the sorted dimension is blocked if it is the only dimension that can be sharded.
pub(super) fn sort(module: &Module, op: OpId, along: i64) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let along = usize::try_from(if along < 0 { along + shape.len() as i64 } else { along }).ok()?;
    // If there is another dimension, an all-to-all can move an axis from the sorted dimension to that dimension, so axes may propagate
    // along the sorted dimension. Otherwise propagation would only create more values that must be all-gathered.
    let alone = shape.iter().enumerate().all(|(dim, &n)| dim == along || n == 1);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let factor = if dim == along {
            rule.blocked(n, FactorKind::NeedReplication, alone)
        } else {
            rule.factor(n, FactorKind::PassThrough)
        };
        rule.operands(dim, factor).results(dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of an `rng_bit_generator`: the state needs replication and is not related to the random bits.
pub(super) fn rng_bit_generator(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (state, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 1)?);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in state.iter().enumerate() {
        let factor = rule.blocked(n, FactorKind::NeedReplication, true);
        rule.operand(0, dim, factor).result(0, dim, factor);
    }
    for (dim, &n) in output.iter().enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        rule.result(1, dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of an `rng`, whose third operand is the shape of the result.
pub(super) fn rng(module: &Module, op: OpId) -> Option<ShardingRule> {
    let output = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in output.iter().enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        rule.result(0, dim, factor);
    }
    let factor = rule.blocked(output.len() as i64, FactorKind::NeedReplication, true);
    // The third operand is the shape as a list, with as many elements as the result has dimensions.
    rule.operand(2, 0, factor);
    Some(rule.finish())
}

/// Relates the dimensions of an `fft`. A real transform changes the size of the last dimension, so propagation along it is blocked.
pub(super) fn fft(module: &Module, op: OpId, transformed: usize) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let batch = input.len().saturating_sub(transformed);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in input.iter().enumerate() {
        let factor = if dim < batch {
            rule.factor(n, FactorKind::PassThrough)
        } else {
            let changes = dim + 1 == input.len() && input.last() != output.last();
            rule.blocked(n, FactorKind::NeedReplication, changes)
        };
        rule.operands(dim, factor).results(dim, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `cholesky`: the last two are the matrix.
pub(super) fn cholesky(module: &Module, op: OpId) -> Option<ShardingRule> {
    let shape = operand_shape(module, op, 0)?;
    let batch = shape.len().saturating_sub(2);
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        rule.everywhere(
            dim,
            n,
            if dim < batch { FactorKind::PassThrough } else { FactorKind::NeedReplication },
        );
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `triangular_solve`, `op(a) x = b` or `x op(a) = b`. The factors are the dimension of `a` that is contracted
/// with `x`, the other dimension of `a`, which corresponds to `b`, and the free dimension of `b`.
pub(super) fn triangular_solve(module: &Module, op: OpId, spec: &TriangularSpec) -> Option<ShardingRule> {
    let (a, b) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let (row, column) = (a.len().checked_sub(2)?, a.len() - 1);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(&a[..row]);
    let transposed = spec.transpose_a != Transposition::None;
    // For `a x = b`, rows of `a` correspond to rows of `b` and columns to rows of `x`. A transposed `a` swaps rows and columns, and so does
    // `x op(a) = b`.
    let (free, contracted) = if spec.left_side != transposed { (row, column) } else { (column, row) };
    let kind = FactorKind::NeedReplication;
    let meets_b = |rule: &mut RuleBuilder, dim: usize| {
        let factor = rule.factor(size(a, free), kind);
        rule.operand(0, free, factor).operand(1, dim, factor);
    };
    let outer = |rule: &mut RuleBuilder, dim: usize| {
        let factor = rule.factor(size(b, dim), kind);
        rule.operand(1, dim, factor).result(0, dim, factor);
    };
    let inner_dim = if spec.left_side {
        meets_b(&mut rule, row);
        outer(&mut rule, column);
        row
    } else {
        outer(&mut rule, row);
        meets_b(&mut rule, column);
        column
    };
    let factor = rule.factor(size(a, contracted), kind);
    rule.operand(0, contracted, factor).result(0, inner_dim, factor);
    Some(rule.finish())
}

/// Relates the dimensions of a `top_k`: the searched dimension needs replication.
pub(super) fn top_k(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise_or(input, output, FactorKind::NeedReplication, true);
    Some(rule.finish())
}

/// Relates the dimensions of a `chlo.top_k`. As in Shardy, nothing propagates through it, but planning may shard batch dimensions.
pub(super) fn chlo_top_k(module: &Module, op: OpId) -> Option<ShardingRule> {
    let mut rule = top_k(module, op)?;
    rule.factors.iter_mut().for_each(|factor| factor.blocked = true);
    Some(rule)
}
