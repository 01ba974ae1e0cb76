//! Sharding rules of operations that only move elements.

use shardc_ir::{Module, OpId, OpKind, ValueId};

use super::builder::{RuleBuilder, operand_shape, operand_type, result_shape, result_type, size};
use crate::rules::sharding_rule::{FactorKind, ShardingRule};

/// Relates the dimensions of a `bitcast_convert`. A dimension that is added or removed holds the bits of one element.
pub(super) fn bitcast_convert(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    let common = input.len().min(output.len());
    rule.pointwise(&input[..common]);
    if let Some(&parts) = output.get(common) {
        let factor = rule.factor(parts, FactorKind::NeedReplication);
        rule.result(0, common, factor);
    }
    if let Some(&parts) = input.get(common) {
        let factor = rule.factor(parts, FactorKind::NeedReplication);
        rule.operand(0, common, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `transpose`: result dimension `i` is operand dimension `permutation[i]`.
pub(super) fn transpose(module: &Module, op: OpId, permutation: &[u32]) -> Option<ShardingRule> {
    let input = operand_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (to, &from) in permutation.iter().enumerate() {
        let factor = rule.factor(size(input, from as usize), FactorKind::PassThrough);
        rule.operand(0, from as usize, factor).result(0, to, factor);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `reverse`: along a reversed dimension, devices exchange their blocks.
pub(super) fn reverse(module: &Module, op: OpId, dims: &[u32]) -> Option<ShardingRule> {
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let reversed = dims.contains(&(dim as u32));
        rule.everywhere(dim, n, if reversed { FactorKind::Permutation } else { FactorKind::PassThrough });
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `slice` or `pad`: along dimensions whose size changes, elements shift by a static distance.
pub(super) fn shifted(module: &Module, op: OpId, conservative: bool) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise_or(input, output, FactorKind::Permutation, conservative);
    Some(rule.finish())
}

/// Relates the dimensions of a `dynamic_slice`: along dimensions whose size changes, elements shift by an unknown distance, so nothing
/// propagates.
pub(super) fn dynamic_slice(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_shape(module, op, 0)?, result_shape(module, op, 0)?);
    let mut rule = RuleBuilder::new(module, op);
    rule.pointwise_or(input, output, FactorKind::NeedReplication, true);
    Some(rule.finish())
}

/// Relates the dimensions of a `dynamic_update_slice`. Each device writes those elements of the replicated update that are within its
/// block. The operand may therefore be sharded along dimensions in which the update is smaller.
pub(super) fn dynamic_update_slice(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (operand, update) = (operand_shape(module, op, 0)?, operand_shape(module, op, 1)?);
    let is_constant = |&v: &ValueId| {
        module.def_op(v).is_some_and(|def| matches!(module.ops[def].kind, OpKind::Constant(_)))
    };
    let starts = module.ops[op].operands.get(2..).unwrap_or(&[]);
    let update_kind =
        if starts.iter().all(is_constant) { FactorKind::PassThrough } else { FactorKind::NeedReplication };
    let mut rule = RuleBuilder::new(module, op);
    for (dim, (&n, &m)) in operand.iter().zip(update).enumerate() {
        let factor = rule.factor(n, FactorKind::PassThrough);
        rule.operand(0, dim, factor).result(0, dim, factor);
        if n == m {
            rule.operand(1, dim, factor);
        } else {
            // With a constant index, the devices that the update affects are known at compile time. With a dynamic index, any device may
            // be affected, so each device needs the full update.
            let factor = rule.factor(m, update_kind);
            rule.operand(1, dim, factor);
        }
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `concatenate`: the concatenated dimension is one factor. If every operand is a slice, or all operands are
/// one tensor or slices of it (as in `jnp.roll`), elements only shift between devices. Otherwise the dimension needs replication.
pub(super) fn concatenate(
    module: &Module,
    op: OpId,
    along: usize,
    conservative: bool,
) -> Option<ShardingRule> {
    let shape = result_shape(module, op, 0)?;
    let operands = &module.ops[op].operands;
    let before_slice = |v: ValueId| match module.def_op(v) {
        Some(def) if matches!(module.ops[def].kind, OpKind::Slice(_)) => {
            module.ops[def].operands.first().copied()
        }
        _ => None,
    };
    let source = |v: ValueId| before_slice(v).unwrap_or(v);
    let slices = operands.iter().filter(|&&v| before_slice(v).is_some()).count();
    let one_source = operands.windows(2).all(|pair| source(pair[0]) == source(pair[1]));
    let kind = if slices == operands.len() || (one_source && slices > 0) {
        FactorKind::Permutation
    } else {
        FactorKind::NeedReplication
    };
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        if dim != along {
            rule.everywhere(dim, n, FactorKind::PassThrough);
        } else if !conservative {
            rule.everywhere(dim, n, kind);
        }
    }
    Some(rule.finish())
}

/// Relates the dimensions of a splice; elements shift between devices along `along`.
pub(super) fn splice(module: &Module, op: OpId, along: usize) -> Option<ShardingRule> {
    let shape = result_shape(module, op, 0)?;
    let mut rule = RuleBuilder::new(module, op);
    for (dim, &n) in shape.iter().enumerate() {
        let kind = if dim == along { FactorKind::Permutation } else { FactorKind::PassThrough };
        rule.everywhere(dim, n, kind);
    }
    Some(rule.finish())
}

/// Relates the dimensions of a `reshape`: splits and merges them into common factors.
///
/// The algorithm walks over both shapes from the major end. While the products of the factors so far are equal, the greatest common divisor
/// of the remaining sizes of the two current dimensions becomes a common factor. If it is 1, operand and result get separate factors until
/// the products are equal again.
pub(super) fn reshape(module: &Module, op: OpId) -> Option<ShardingRule> {
    let (input, output) = (operand_type(module, op, 0)?, result_type(module, op, 0)?);
    // The products in the walk do not exceed this number, so they cannot overflow.
    let elements = input.num_elements()?;
    if elements == 0 || output.num_elements() != Some(elements) {
        return None;
    }
    let mut rule = RuleBuilder::new(module, op);
    let mut from = Side::new(&input.shape);
    let mut to = Side::new(&output.shape);
    while !from.done() || !to.done() {
        // A dimension of size 1 is skipped. In a step of the walk, its common divisor with the other shape's dimension would be 1, and
        // `[1, 8] -> [8]` would lose the common factor 8.
        if from.at_one() {
            let factor = rule.factor(1, FactorKind::PassThrough);
            rule.operand(0, from.dim, factor);
            from.dim += 1;
            continue;
        }
        if to.at_one() {
            let factor = rule.factor(1, FactorKind::PassThrough);
            rule.result(0, to.dim, factor);
            to.dim += 1;
            continue;
        }
        from.open();
        to.open();
        // A common factor must start at the same position in both shapes, so the products must be equal.
        let gcd = gcd(from.left(), to.left());
        match from.factors.cmp(&to.factors) {
            std::cmp::Ordering::Equal if gcd > 1 => {
                let factor = rule.factor(gcd, FactorKind::PassThrough);
                rule.operand(0, from.dim, factor).result(0, to.dim, factor);
                from.factors *= gcd;
                to.factors *= gcd;
            }
            // `[2, 3, 4] -> [3, 2, 4]`: 2 and 3 have no common divisor, so each dimension becomes a separate factor. The products are equal
            // again at 6, and 4 is a common factor.
            std::cmp::Ordering::Equal => {
                let factor = rule.factor(from.left(), FactorKind::PassThrough);
                rule.operand(0, from.dim, factor);
                from.factors = from.sizes;
                let factor = rule.factor(to.left(), FactorKind::PassThrough);
                rule.result(0, to.dim, factor);
                to.factors = to.sizes;
            }
            std::cmp::Ordering::Less => {
                let n = from.catch_up(gcd, to.factors);
                let factor = rule.factor(n, FactorKind::PassThrough);
                rule.operand(0, from.dim, factor);
                from.factors *= n;
            }
            std::cmp::Ordering::Greater => {
                let n = to.catch_up(gcd, from.factors);
                let factor = rule.factor(n, FactorKind::PassThrough);
                rule.result(0, to.dim, factor);
                to.factors *= n;
            }
        }
        from.close();
        to.close();
    }
    Some(rule.finish())
}

/// The state of the walk along one shape.
struct Side<'a> {
    shape: &'a [i64],
    /// The current dimension.
    dim: usize,
    /// The product of the dimensions before `dim`, and of `dim` once it is open.
    sizes: i64,
    /// The product of the factors so far.
    factors: i64,
}

impl<'a> Side<'a> {
    fn new(shape: &'a [i64]) -> Self {
        Side { shape, dim: 0, sizes: 1, factors: 1 }
    }

    fn done(&self) -> bool {
        self.dim >= self.shape.len()
    }

    fn at_one(&self) -> bool {
        self.shape.get(self.dim) == Some(&1)
    }

    fn open(&mut self) {
        if !self.done() && self.sizes == self.factors {
            self.sizes *= self.shape[self.dim];
        }
    }

    fn close(&mut self) {
        if !self.done() && self.sizes == self.factors {
            self.dim += 1;
        }
    }

    /// Returns the remaining size of the current dimension.
    fn left(&self) -> i64 {
        self.sizes / self.factors
    }

    /// Returns the next factor of the shape with the smaller product. If possible, the factor makes the products equal; otherwise it leaves
    /// the common divisor for the next step.
    fn catch_up(&self, gcd: i64, ahead: i64) -> i64 {
        let left = self.left();
        if ahead % self.factors == 0 && left % (ahead / self.factors) == 0 {
            ahead / self.factors
        } else if left > gcd {
            left / gcd
        } else {
            left
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
