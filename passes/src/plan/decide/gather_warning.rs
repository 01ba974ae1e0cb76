//! Warnings about operations that cannot be partitioned along a sharded dimension (SH0310): their operands are all-gathered.

use shardc_ir::{Class, Diagnostic, OpId, OpKind, TensorSharding};

use super::available::AvailableCopies;
use super::{Gather, OpPlanner};
use crate::plan::support::Split;
use crate::report::byte_size::bytes_text;
use crate::rules::sharding_rule::ShardingRule;
use crate::rules::{is_kernel, is_known_target};
use crate::sharding::axes::{Part, Parts, parts};

impl OpPlanner<'_> {
    /// Returns a warning (SH0310) if an operand is all-gathered along a dimension along which the operation cannot be partitioned.
    pub(super) fn gather_warning(
        &self,
        op: OpId,
        rule: Option<(&ShardingRule, &[Split])>,
        required: &[TensorSharding],
        copies: &AvailableCopies,
    ) -> Option<Gather> {
        let data = &self.rw.module.ops[op];
        for (i, (&value, to)) in data.operands.iter().zip(required).enumerate() {
            let (Some(from), Some(ty)) =
                (self.rw.module.shardings.sharding_of(value), self.rw.module.stored(value))
            else {
                continue;
            };
            // If a copy with this sharding exists, the first operation that needed the copy has already caused the warning.
            let is_ready =
                copies.shardings(value).any(|id| self.rw.module.shardings.get(id).same_placement(to));
            if from.same_placement(to) || is_ready || self.free.is_free(value) {
                continue;
            }
            let cannot_split = |dim: usize| match rule {
                Some((rule, splits)) => {
                    let factors = &rule.operands[i].dims[dim];
                    let whole = |split: Split| split == Split::No || split.is_windowed();
                    factors.is_empty() || factors.iter().any(|&f| whole(splits[usize::from(f)]))
                }
                None => true,
            };
            let could = |dim: usize| {
                rule.is_some_and(|(rule, splits)| {
                    rule.operands[i].dims[dim].iter().all(|&f| splits[usize::from(f)] == Split::Halo)
                })
            };
            // If the same axes also shard the result along this dimension, the operand is all-gathered because windows extend over too many
            // blocks.
            let is_alike = |dim: usize| {
                let factor = rule.and_then(|(rule, _)| Some((rule, *rule.operands[i].dims[dim].first()?)));
                let place = factor.and_then(|(rule, f)| rule.results.first()?.find(f));
                let result = data.results.first().and_then(|&v| self.rw.module.shardings.sharding_of(v));
                place.zip(result).is_some_and(|((d, _), result)| result.axes(d) == from.axes(dim))
            };
            let has: Parts = to.dims.iter().flat_map(|dim| parts(self.mesh, &dim.axes)).collect();
            // Axes that move to another dimension are not all-gathered.
            let is_lost = |d: usize| {
                let lost = |part: &Part| !has.iter().any(|p| p.overlaps(*part));
                parts(self.mesh, from.axes(d)).iter().any(lost)
            };
            let lost = (0..from.rank()).find(|&d| cannot_split(d) && ty.shape[d] > 1 && is_lost(d));
            let Some(dim) = lost else { continue };
            let bytes = ty.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
            if bytes == 0 {
                continue;
            }
            let mut warning = Diagnostic::warning(
                Class::Unsupported,
                "SH0310",
                format!(
                    "{} needs dimension {dim} of operand {i} replicated, so the operand is all-gathered: {}, sharded {}, {}",
                    data.kind.title(),
                    self.rw.module.types.display(self.rw.module.values[value].ty),
                    from.display(self.mesh),
                    bytes_text(bytes)
                ),
            )
            .at(data.span)
            .bytes(bytes)
            .hint(if could(dim) && is_alike(dim) {
                "the windows span so many shards that an all-gather is cheaper than a halo exchange; shard the dimension over fewer devices"
            } else if could(dim) && bytes as f64 <= self.planner.costs().start() {
                "an all-gather of so few bytes costs less than the launch of another collective; annotate the result with the same sharding of that dimension to get a halo exchange instead"
            } else if could(dim) {
                "annotate the result with the same sharding of that dimension to get a halo exchange instead"
            } else if matches!(&data.kind, OpKind::CustomCall(spec) if is_kernel(&spec.target)) {
                "the kernel is compiled for fixed shapes; call it on the shard of each device in an sdy.manual_computation (jax.shard_map)"
            } else if matches!(&data.kind, OpKind::CustomCall(spec) if !is_known_target(&spec.target)) {
                "if the target can run on shards, specify a sharding rule: sdy.sharding_rule on the call, or Compiler::custom_call_rule for the target"
            } else {
                "shardc cannot partition this operation along that dimension yet; shard another dimension of the operand to avoid the all-gather"
            });
            warning.user_loc = self.rw.module.user_loc(op);
            return Some(Gather { op, warning });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans `operations` on the argument `%a` with this sharding.
    fn planned(dims: &str, operations: &str) -> Around {
        let program = format!(
            r#"func.func @main(%a: tensor<1x64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, {dims}>}}) -> tensor<1x64x64xf32> {{
              {operations}
              return %r : tensor<1x64x64xf32>
            }}"#
        );
        around("plan", r#""x"=4"#, &program)
    }

    const ONE: &str =
        r#"%r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>"#;

    #[test]
    fn an_operation_that_needs_a_split_dimension_whole_gives_a_warning() {
        let done = planned(r#"[{}, {"x"}, {}]"#, ONE);
        assert_eq!(done.warnings, ["SH0310"]);
        assert_eq!(done.shardings("stablehlo.cholesky"), ["[{}, {}, {}]"]);
    }

    #[test]
    fn an_operand_that_is_replicated_already_gives_no_warning() {
        assert!(planned("[{}, {}, {}]", ONE).warnings.is_empty());
    }

    #[test]
    fn a_second_operation_that_needs_the_gathered_value_gives_no_second_warning() {
        let twice = format!(
            r#"%b = "stablehlo.cholesky"(%a) <{{lower = false}}> : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
            %c = {}
            %r = stablehlo.add %b, %c : tensor<1x64x64xf32>"#,
            &ONE[5..]
        );
        let done = planned(r#"[{}, {"x"}, {}]"#, &twice);
        assert_eq!(done.warnings, ["SH0310"]);
    }
}
