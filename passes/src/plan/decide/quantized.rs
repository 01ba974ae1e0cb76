//! Restrictions on partitioning operations on quantized tensors.
//!
//! A factor is not sharded if a mask or an unreduced sum would have to fill in zeros: the representation of zero depends on the
//! quantization parameters.

use shardc_ir::{Module, OpId, OpKind};

use crate::plan::support::Split;
use crate::rules::sharding_rule::{FactorIndex, ShardingRule};

/// Restricts the [`Split`] of a factor if operands or results are quantized.
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
    // If the update covers only a range of the dimension, a device's block may be outside of it, and the device would have to create
    // elements.
    let size = |operand: usize| {
        let (dim, _) = rule.operands.get(operand)?.find(index)?;
        module.shape(data.operands[operand]).get(dim).copied()
    };
    let spans = written.is_none_or(|update| size(0).is_some() && size(0) == size(update));
    let is_local = split == Split::Plain && spans;
    if is_local && !has_scales { split } else { Split::No }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a matmul that contracts the first dimensions of two quantized matrices.
    fn planned(first: &str, second: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<8x2x!quant.uniform<i8:f32, 0.5>> {{sdy.sharding = #sdy.sharding<@mesh, {first}>}},
                %b: tensor<8x2x!quant.uniform<i8:f32, 0.5>> {{sdy.sharding = #sdy.sharding<@mesh, {second}>}}) -> tensor<2x2x!quant.uniform<i32:f32, 0.25>> {{
              %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x2x!quant.uniform<i8:f32, 0.5>>, tensor<8x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i32:f32, 0.25>>
              return %0 : tensor<2x2x!quant.uniform<i32:f32, 0.25>>
            }}"#
        );
        around("plan", r#""x"=2"#, &program)
    }

    #[test]
    fn a_quantized_matmul_has_no_partial_sums() {
        let done = planned(r#"[{"x"}, {}]"#, r#"[{"x"}, {}]"#);
        assert_eq!(done.shardings("stablehlo.dot_general"), ["[{}, {}]"]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}]", "[{}, {}]"]);
    }

    #[test]
    fn a_quantized_matmul_is_split_along_other_dimensions() {
        let done = planned(r#"[{}, {"x"}]"#, "[{}, {}]");
        assert_eq!(done.shardings("stablehlo.dot_general"), [r#"[{"x"}, {}]"#]);
        assert!(done.is_same(), "{}", done.after);
    }
}
