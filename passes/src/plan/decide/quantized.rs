//! Splits of operations on quantized tensors.
//!
//! A factor is not sharded if devices would have to invent elements, as masks and unreduced sums do: the zero element depends on the scale.

use shardc_ir::{Module, OpId, OpKind};

use crate::plan::support::Split;
use crate::rules::sharding_rule::{FactorIndex, ShardingRule};

/// Restricts the split of a factor if operands or results are quantized.
pub(super) fn restricted(
    module: &Module,
    op: OpId,
    rule: &ShardingRule,
    index: FactorIndex,
    split: Split,
) -> Split {
    let data = &module.ops[op];
    let values = || data.operands.iter().chain(&data.results);
    if split == Split::No || !values().any(|&v| module.is_quantized(v)) {
        return split;
    }
    let has_scales = values().zip(rule.tensors()).any(|(&value, mapping)| {
        let tensor = module.types.as_quantized(module.values[value].ty);
        let dim = mapping.find(index).map(|(dim, _)| dim);
        tensor.zip(dim).is_some_and(|(tensor, dim)| tensor.scales_along(dim))
    });
    let written = match &data.kind {
        OpKind::Scatter(_) => Some(data.operands.len().div_ceil(2)),
        OpKind::DynamicUpdateSlice => Some(1),
        _ => None,
    };
    // The update may be in another block, and then the device would have to invent elements, unless the update spans the
    // dimension.
    let size = |operand: usize| {
        let (dim, _) = rule.operands.get(operand)?.find(index)?;
        module.shape(data.operands[operand]).get(dim).copied()
    };
    let spans = written.is_none_or(|update| size(0).is_some() && size(0) == size(update));
    let is_local = split == Split::Plain && spans;
    if is_local && !has_scales { split } else { Split::No }
}
