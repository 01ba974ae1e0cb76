//! A builder of sharding rules, factor by factor.

use shardc_ir::{Module, OpId, TensorType};

use crate::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};

/// Collects the factors of one rule. The factors of a dimension are major to minor, in the order in which they are mapped. Missing
/// dimensions are ignored, so that a malformed operation gets an incomplete rule instead of causing a panic.
#[derive(Debug)]
pub(super) struct RuleBuilder {
    rule: ShardingRule,
}

impl RuleBuilder {
    /// Creates a builder for the operands and results of `op`, without factors.
    pub(super) fn new(module: &Module, op: OpId) -> Self {
        let op = &module.ops[op];
        RuleBuilder {
            rule: ShardingRule::empty(
                op.operands.iter().map(|&v| module.stored(v)),
                op.results.iter().map(|&v| module.stored(v)),
            ),
        }
    }

    /// Adds a factor that is not mapped to any dimension yet.
    pub(super) fn factor(&mut self, size: i64, kind: FactorKind) -> FactorIndex {
        self.rule.factors.push(Factor { size, kind, blocked: false });
        (self.rule.factors.len() - 1) as FactorIndex
    }

    /// Adds a factor; if `blocked` is true, nothing propagates along it.
    pub(super) fn blocked(&mut self, size: i64, kind: FactorKind, blocked: bool) -> FactorIndex {
        let factor = self.factor(size, kind);
        self.rule.factors[usize::from(factor)].blocked = blocked;
        factor
    }

    /// Maps a factor to a dimension of an operand.
    pub(super) fn operand(&mut self, operand: usize, dim: usize, factor: FactorIndex) -> &mut Self {
        let size = self.rule.factors[usize::from(factor)].size;
        if let Some(mapping) = self.rule.operands.get_mut(operand) {
            map(mapping, dim, factor, size);
        }
        self
    }

    /// Maps a factor to a dimension of a result.
    pub(super) fn result(&mut self, result: usize, dim: usize, factor: FactorIndex) -> &mut Self {
        let size = self.rule.factors[usize::from(factor)].size;
        if let Some(mapping) = self.rule.results.get_mut(result) {
            map(mapping, dim, factor, size);
        }
        self
    }

    /// Maps a factor to dimension `dim` of every operand, except scalars.
    pub(super) fn operands(&mut self, dim: usize, factor: FactorIndex) -> &mut Self {
        for i in 0..self.rule.operands.len() {
            self.operand(i, dim, factor);
        }
        self
    }

    /// Maps a factor to dimension `dim` of every result, except scalars.
    pub(super) fn results(&mut self, dim: usize, factor: FactorIndex) -> &mut Self {
        for i in 0..self.rule.results.len() {
            self.result(i, dim, factor);
        }
        self
    }

    /// Adds a factor and maps it to dimension `dim` of every operand and result.
    pub(super) fn everywhere(&mut self, dim: usize, size: i64, kind: FactorKind) -> FactorIndex {
        let factor = self.factor(size, kind);
        self.operands(dim, factor).results(dim, factor);
        factor
    }

    /// Adds a pass-through factor for each dimension of `shape`, and maps it to all tensors.
    pub(super) fn pointwise(&mut self, shape: &[i64]) -> &mut Self {
        for (dim, &size) in shape.iter().enumerate() {
            self.everywhere(dim, size, FactorKind::PassThrough);
        }
        self
    }

    /// Adds a factor for each dimension, and maps it to all tensors. A factor whose size is the same in `input` and `output` is
    /// pass-through. Any other factor has the input's size and kind `mismatch`, and `blocked` determines whether it blocks propagation.
    pub(super) fn pointwise_or(
        &mut self,
        input: &[i64],
        output: &[i64],
        mismatch: FactorKind,
        blocked: bool,
    ) -> &mut Self {
        for (dim, (&n, &m)) in input.iter().zip(output).enumerate() {
            let factor = if n == m {
                self.factor(n, FactorKind::PassThrough)
            } else {
                // The factor has the input's size, as in Shardy. Example: a `slice` of 8 rows to 6 over 4 devices has blocks of 2 rows in
                // operand and result, and the last device has no row of the result.
                self.blocked(n, mismatch, blocked)
            };
            self.operands(dim, factor).results(dim, factor);
        }
        self
    }

    /// Returns the rule. Dimensions without a factor get their own factor of size 1, as in Shardy.
    pub(super) fn finish(mut self) -> ShardingRule {
        let ShardingRule { factors, operands, results, .. } = &mut self.rule;
        for mapping in operands.iter_mut().chain(results) {
            for dim in &mut mapping.dims {
                if dim.is_empty() {
                    dim.push(factors.len() as FactorIndex);
                    factors.push(Factor { size: 1, kind: FactorKind::PassThrough, blocked: false });
                }
            }
        }
        self.rule
    }
}

/// Appends a factor to a dimension, unless the factor has size 1 and the dimension already has a factor.
fn map(mapping: &mut TensorMapping, dim: usize, factor: FactorIndex, size: i64) {
    if let Some(factors) = mapping.dims.get_mut(dim)
        && (size != 1 || factors.is_empty())
    {
        factors.push(factor);
    }
}

/// Returns the shape of an operand; `None` if it is missing or not a tensor.
pub(super) fn operand_shape(module: &Module, op: OpId, i: usize) -> Option<&[i64]> {
    operand_type(module, op, i).map(|t| t.shape.as_slice())
}

/// Returns the type of an operand; `None` if it is missing or not a tensor.
pub(super) fn operand_type(module: &Module, op: OpId, i: usize) -> Option<&TensorType> {
    module.ops[op].operands.get(i).and_then(|&v| module.stored(v))
}

/// Returns the shape of a result; `None` if it is missing or not a tensor.
pub(super) fn result_shape(module: &Module, op: OpId, i: usize) -> Option<&[i64]> {
    result_type(module, op, i).map(|t| t.shape.as_slice())
}

/// Returns the type of a result; `None` if it is missing or not a tensor.
pub(super) fn result_type(module: &Module, op: OpId, i: usize) -> Option<&TensorType> {
    module.ops[op].results.get(i).and_then(|&v| module.stored(v))
}

/// Returns the size of a dimension; 1 if it is missing.
pub(super) fn size(shape: &[i64], dim: usize) -> i64 {
    shape.get(dim).copied().unwrap_or(1)
}

/// Returns the rule of an element-wise operation: one pass-through factor per dimension of the first result. Scalar operands have no
/// factors.
pub(super) fn pointwise(module: &Module, op: OpId) -> Option<ShardingRule> {
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise(shape);
    Some(rule.finish())
}
