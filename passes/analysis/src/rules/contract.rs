//! Rules of contractions: `dot_general`, `convolution`, `ragged_dot`.

use shardc_ir::{ConvSpec, DimList, DotSpec, Module, OpId, RaggedDotSpec};

use super::builder::{RuleBuilder, operand_shape, result_shape, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a `dot_general`: batching dimensions, free dimensions of the left and of the right operand, then contracting
/// dimensions (reductions).
pub(super) fn dot_general(module: &Module, op: OpId, spec: &DotSpec) -> Option<ShardingRule> {
    let (lhs, rhs) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let mut rule = RuleBuilder::new(module, op);
    let mut out = 0;
    for (&l, &r) in spec.lhs_batch.iter().zip(&spec.rhs_batch) {
        let factor = rule.factor(size(lhs, l as usize), FactorKind::PassThrough);
        rule.operand(0, l as usize, factor).operand(1, r as usize, factor).result(0, out, factor);
        out += 1;
    }
    let sides =
        [(0, lhs, &spec.lhs_batch, &spec.lhs_contract), (1, rhs, &spec.rhs_batch, &spec.rhs_contract)];
    for (operand, shape, batch, contract) in sides {
        for (dim, &n) in shape.iter().enumerate() {
            if !batch.contains(&(dim as u32)) && !contract.contains(&(dim as u32)) {
                let factor = rule.factor(n, FactorKind::PassThrough);
                rule.operand(operand, dim, factor).result(0, out, factor);
                out += 1;
            }
        }
    }
    for (&l, &r) in spec.lhs_contract.iter().zip(&spec.rhs_contract) {
        let factor = rule.factor(size(lhs, l as usize), FactorKind::Reduction);
        rule.operand(0, l as usize, factor).operand(1, r as usize, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `convolution`. Groups and batch are pass-through, input features are contracting. A spatial dimension of the
/// input may be sharded across windows (with a halo exchange), or within the window if the window is wide. The larger of the two factors is
/// the major one. A conservative rule does not relate spatial dimensions.
pub(super) fn convolution(
    module: &Module,
    op: OpId,
    spec: &ConvSpec,
    conservative: bool,
) -> Option<ShardingRule> {
    let (lhs, rhs) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let out = result_shape(module, op, 0)?;
    let (in_batch, in_feature) = (spec.input.batch as usize, spec.input.feature as usize);
    let (k_in, k_out) = (spec.kernel.input_feature as usize, spec.kernel.output_feature as usize);
    let (out_batch, out_feature) = (spec.output.batch as usize, spec.output.feature as usize);
    let mut rule = RuleBuilder::new(module, op);
    // The groups are the major part of the feature dimension, so their factor is mapped first.
    if spec.batch_group_count > 1 {
        let factor = rule.factor(spec.batch_group_count, FactorKind::PassThrough);
        rule.operand(0, in_batch, factor).operand(1, k_out, factor).result(0, out_feature, factor);
    }
    let factor = rule.factor(size(out, out_batch), FactorKind::PassThrough);
    rule.operand(0, in_batch, factor).result(0, out_batch, factor);

    let spatial = spec.input.spatial.iter().zip(&spec.kernel.spatial).zip(&spec.output.spatial);
    for ((&l, &r), &o) in spatial.filter(|_| !conservative) {
        let (l, r, o) = (l as usize, r as usize, o as usize);
        let (windows, window) = (size(out, o), size(rhs, r));
        let mut left = size(lhs, l);
        // For example, the gradient of a kernel is a convolution with 3 windows, each nearly as large as the image (222 positions). Only
        // sharding within the window is useful; the results are then partial sums.
        let by_window = windows < window;
        for within in [by_window, !by_window] {
            let n = left.min(if within { window } else { windows });
            if n > 1 {
                if within {
                    let factor = rule.factor(n, FactorKind::Reduction);
                    rule.operand(0, l, factor).operand(1, r, factor);
                } else {
                    let factor = rule.factor(n, FactorKind::Permutation);
                    rule.operand(0, l, factor).result(0, o, factor);
                }
                // The quotient is rounded down: windows may overlap, so the product of the sizes of the two spatial factors may differ from
                // the size of the dimension.
                left /= n;
            }
        }
    }

    if spec.feature_group_count > 1 {
        let factor = rule.factor(spec.feature_group_count, FactorKind::PassThrough);
        rule.operand(0, in_feature, factor).operand(1, k_out, factor).result(0, out_feature, factor);
    }
    let factor = rule.factor(size(rhs, k_in), FactorKind::Reduction);
    rule.operand(0, in_feature, factor).operand(1, k_in, factor);

    // The remaining factor of the output features is the features within one group.
    let groups = spec.batch_group_count.max(1).saturating_mul(spec.feature_group_count.max(1));
    let features = size(out, out_feature) / groups;
    if features > 1 {
        let factor = rule.factor(features, FactorKind::PassThrough);
        rule.operand(1, k_out, factor).result(0, out_feature, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `ragged_dot`, which multiplies each group of the ragged dimension separately. The start of a group depends
/// on the sizes of all earlier groups, so the ragged dimension and the group dimension need replication. The group dimension is in the
/// right operand, or is the first dimension of the result if the ragged dimension is contracting.
pub(super) fn ragged_dot(module: &Module, op: OpId, spec: &RaggedDotSpec) -> Option<ShardingRule> {
    let (lhs, rhs) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let sizes = operand_shape(module, op, 2)?;
    let is_in = |list: &DimList, dim: usize| list.contains(&(dim as u32));
    let kind = |dim: usize, otherwise: FactorKind| {
        if is_in(&spec.lhs_ragged, dim) { FactorKind::NeedReplication } else { otherwise }
    };
    let mut rule = RuleBuilder::new(module, op);
    let groups = rule.factor(sizes.last().copied().unwrap_or(1), FactorKind::NeedReplication);
    rule.operand(2, sizes.len().saturating_sub(1), groups);
    let mut out = 0;
    if spec.lhs_ragged.iter().any(|&d| spec.lhs_contract.contains(&d)) {
        rule.result(0, out, groups);
        out += 1;
    }
    for &dim in &spec.rhs_group {
        rule.operand(1, dim as usize, groups);
    }
    for (&l, &r) in spec.lhs_batch.iter().zip(&spec.rhs_batch) {
        let factor = rule.factor(size(lhs, l as usize), kind(l as usize, FactorKind::PassThrough));
        rule.operand(0, l as usize, factor).operand(1, r as usize, factor).result(0, out, factor);
        out += 1;
    }
    for (dim, &n) in lhs.iter().enumerate() {
        if !is_in(&spec.lhs_batch, dim) && !is_in(&spec.lhs_contract, dim) {
            let factor = rule.factor(n, kind(dim, FactorKind::PassThrough));
            rule.operand(0, dim, factor).result(0, out, factor);
            out += 1;
        }
    }
    for (dim, &n) in rhs.iter().enumerate() {
        if ![&spec.rhs_batch, &spec.rhs_contract, &spec.rhs_group].iter().any(|list| is_in(list, dim)) {
            let factor = rule.factor(n, FactorKind::PassThrough);
            rule.operand(1, dim, factor).result(0, out, factor);
            out += 1;
        }
    }
    for (&l, &r) in spec.lhs_contract.iter().zip(&spec.rhs_contract) {
        let factor = rule.factor(size(lhs, l as usize), kind(l as usize, FactorKind::Reduction));
        rule.operand(0, l as usize, factor).operand(1, r as usize, factor);
    }
    Some(rule.finish())
}
