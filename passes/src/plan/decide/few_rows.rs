//! Partitions slices of few rows of a sharded dimension with an all-reduce instead of a halo exchange.
//!
//! Each device contributes its rows of the slice, and zeros elsewhere: the result is unreduced. `x[5]` of 16 rows over 8 devices is then an
//! all-reduce of one row, or a reduce-scatter if its user is sharded. A result that is sharded along the sliced dimension would have 8
//! blocks of one row, 7 of them padding, and users would all-gather all 8.
//!
//! Conditions, for each sliced dimension:
//!
//! * The dimension is sharded, and the slice does not select all of it.
//! * The result has less than half of the rows of the dimension.
//! * No dimension of the result is empty.
//!
//! Planning chooses between the all-reduce and the halo exchange by cost.
//!
//! ```mlir
//! %0 = stablehlo.slice %a [7:9, 0:4096] : (tensor<64x4096xf32>) -> tensor<2x4096xf32> // %a, %0: [{"x"}, {}]
//! ```
//! becomes
//! ```mlir
//! %0 = stablehlo.slice %a [7:9, 0:4096] : ...             // [{}, {}], unreduced={"x"}
//! %1 = sdy.reshard %0 <@mesh, [{}, {}]>                   // all_reduce
//! ```

use shardc_ir::{Module, OpId, OpKind};
use smallvec::SmallVec;

use crate::rules::sharding_rule::{FactorKind, ShardingRule};
use crate::windows::is_windowed;

/// The maximum number of dimensions for which each subset is tried. With more dimensions, the all-reduce is over all of them or over none.
const MAX_DIMS: usize = 3;

/// Returns the sharding rules that compute a slice as an all-reduce of the rows of each block: one rule for each subset of its sharded
/// dimensions. `rule` is the rule with a halo exchange.
pub(super) fn as_sums(module: &Module, op: OpId, rule: &ShardingRule) -> SmallVec<[ShardingRule; 1]> {
    let data = &module.ops[op];
    let mut rules = SmallVec::new();
    let (OpKind::Slice(_), &[operand], &[result]) =
        (&data.kind, data.operands.as_slice(), data.results.as_slice())
    else {
        return rules;
    };
    let (from, to) = (module.shape(operand), module.shape(result));
    let Some(sharding) = module.shardings.sharding_of(operand) else { return rules };
    // An all-reduce of half of the rows or more sends as much as an all-gather of all rows.
    let dims: SmallVec<[usize; 4]> = (0..to.len())
        .filter(|&d| !sharding.axes(d).is_empty() && is_windowed(&data.kind, from, d))
        .filter(|&d| 2 * to[d] < from[d])
        .collect();
    if dims.is_empty() || to.contains(&0) {
        return rules;
    }
    let all = (1u32 << dims.len().min(31)) - 1;
    let first = if dims.len() > MAX_DIMS { all } else { 1 };
    for chosen in first..=all {
        let mut rule = rule.clone();
        for (_, &dim) in dims.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1) {
            for &factor in &rule.operands[0].dims[dim] {
                rule.factors[usize::from(factor)].kind = FactorKind::Reduction;
            }
            rule.results[0].dims[dim].clear();
        }
        rules.push(rule);
    }
    rules
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a slice of 64 rows, which are sharded over 8 devices.
    fn planned(start: i64, limit: i64) -> Around {
        let rows = limit - start;
        let program = format!(
            r#"func.func @main(%a: tensor<64x4096xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> tensor<{rows}x4096xf32> {{
              %0 = stablehlo.slice %a [{start}:{limit}, 0:4096] : (tensor<64x4096xf32>) -> tensor<{rows}x4096xf32>
              return %0 : tensor<{rows}x4096xf32>
            }}"#
        );
        around("plan", r#""x"=8"#, &program)
    }

    #[test]
    fn two_rows_are_a_sum_of_what_each_device_has_of_them() {
        let done = planned(7, 9);
        assert_eq!(done.shardings("stablehlo.slice"), [r#"[{}, {}], unreduced={"x"}"#]);
        assert_eq!(done.shardings("sdy.reshard"), ["[{}, {}]"]);
    }

    #[test]
    fn most_rows_are_a_halo_exchange() {
        let done = planned(4, 60);
        assert_eq!(done.shardings("stablehlo.slice"), [r#"[{"x"}, {}]"#]);
        assert!(done.is_same(), "{}", done.after);
    }
}
