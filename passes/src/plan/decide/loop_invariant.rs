//! The cost of loop-invariant reshards: a collective that will be hoisted is charged once, not once per iteration.
//!
//! A collective of loop-invariant values is hoisted (`collectives/clean/hoist.rs`) if the trip count is known and the result is small
//! enough to stay live during the loop. Planning therefore charges each iteration only a fraction of the collective's cost. The same holds
//! for the all-reduce of a value that the loop only adds to a loop-carried value (`collectives/clean/defer.rs`).

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, OpId, RegionId, TensorType, Uses, ValueId};

use crate::analysis::accumulated::additions;
use crate::analysis::linear::is_part;
use crate::analysis::trip_count;

/// A value is expected to be hoisted if it has at most 1 / `PART` of the bytes that hoisting may keep live. The fraction is small because
/// planning does not know how many values will be hoisted.
const PART: u64 = 16;

/// A loop whose body is planned.
pub(crate) struct LoopInvariance {
    trips: u64,
    /// The maximum size in bytes of a value that is expected to be hoisted and to stay live across iterations.
    kept: u64,
    /// Arguments of the body, and results of its operations, that differ between iterations.
    varying: FxHashSet<ValueId>,
    /// Values that the body only adds to loop-carried values, directly or slice by slice.
    added: FxHashSet<ValueId>,
}

impl LoopInvariance {
    /// Analyzes the loop `op`, which is not planned yet and may keep `keep_bytes` live; `uses` are the uses of its values. Returns `None`
    /// if its trip count is unknown, or if `keep_bytes` is zero.
    pub(super) fn of(module: &Module, op: OpId, keep_bytes: u64, uses: &Uses) -> Option<LoopInvariance> {
        if keep_bytes == 0 {
            return None;
        }
        let trips = trip_count::known_trips(module, op).filter(|&trips| trips > 0)?;
        let &[_, body] = module.ops[op].regions.as_slice() else { return None };
        let returned = &module.ops[module.terminator(body)?].operands;
        let args = module.regions[body].args.iter().zip(returned);
        // An argument is invariant if the body returns it unchanged. One pass is enough: an argument whose next value is another
        // invariant value counts as varying, which only misses an opportunity.
        let mut varying: FxHashSet<ValueId> =
            args.filter(|(arg, returned)| arg != returned).map(|(&arg, _)| arg).collect();
        for &inner in &module.regions[body].ops {
            let data = &module.ops[inner];
            let is_same = data.regions.is_empty()
                && module.is_pure(data)
                && !data.operands.iter().any(|v| varying.contains(v));
            if !is_same {
                varying.extend(&data.results);
            }
        }
        let added = added_up(module, op, body, uses);
        Some(LoopInvariance { trips, kept: keep_bytes / PART, varying, added })
    }

    /// Returns the fraction of the cost of a reshard of `value` that is charged to each iteration.
    pub(super) fn share(&self, module: &Module, value: ValueId) -> f64 {
        self.once(module, value, !self.varying.contains(&value))
    }

    /// Returns the fraction of the cost of an all-reduce of `value` that is charged to each iteration.
    pub(super) fn share_of_sum(&self, module: &Module, value: ValueId) -> f64 {
        self.once(module, value, self.added.contains(&value))
    }

    fn once(&self, module: &Module, value: ValueId, leaves: bool) -> f64 {
        let bytes = module.stored(value).and_then(|ty| u64::try_from(ty.num_bytes()?).ok());
        let is_kept = bytes.is_some_and(|bytes| bytes <= self.kept);
        if leaves && is_kept { 1.0 / self.trips as f64 } else { 1.0 }
    }
}

/// The number of uses of a value that add the value or a slice of it to a loop-carried value, and the total bytes of these slices.
#[derive(Clone, Copy, Default)]
struct Added {
    reads: usize,
    part_bytes: i64,
}

/// Returns the values that the body of a loop only adds to loop-carried values, and values of which only slices are added. The slices
/// together are no larger than the value, so that `collectives/clean/sink.rs` reduces each slice separately.
fn added_up(module: &Module, op: OpId, body: RegionId, uses: &Uses) -> FxHashSet<ValueId> {
    let only_reader = |value: ValueId| match uses.of(value) {
        &[(reader, _)] => Some(reader),
        _ => None,
    };
    let mut added: FxHashMap<ValueId, Added> = FxHashMap::default();
    for i in 0..module.ops[op].operands.len() {
        for (addition, side) in additions(module, body, i, only_reader).unwrap_or_default() {
            added.entry(module.ops[addition].operands[side]).or_default().reads += 1;
        }
    }
    let mut out = FxHashSet::default();
    if added.is_empty() {
        return out;
    }
    let bytes = |value: ValueId| module.stored(value).and_then(TensorType::num_bytes).unwrap_or(i64::MAX);
    // In reverse order, users come before producers.
    for &inner in module.regions[body].ops.iter().rev() {
        let data = &module.ops[inner];
        for &result in &data.results {
            let Some(of) = added.get(&result) else { continue };
            if uses.of(result).len() != of.reads || of.part_bytes > bytes(result) {
                continue;
            }
            out.insert(result);
            if is_part(&data.kind) {
                let of = added.entry(data.operands[0]).or_default();
                *of = Added { reads: of.reads + 1, part_bytes: of.part_bytes.saturating_add(bytes(result)) };
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    /// Plans a loop of `trips` iterations that clamps a loop-carried value. The bounds are loop-invariant and sharded along another
    /// dimension.
    fn planned(trips: &str) -> Around {
        let program = format!(
            r#"func.func @main(%x: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %low: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %high: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}, %m: tensor<i32>) -> tensor<64x64xf32> {{
              %zero = stablehlo.constant dense<0> : tensor<i32>
              %n = {trips} : tensor<i32>
              %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64x64xf32>
                cond {{
                  %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                  stablehlo.return %c : tensor<i1>
                }} do {{
                  %one = stablehlo.constant dense<1> : tensor<i32>
                  %j = stablehlo.add %i, %one : tensor<i32>
                  %1 = stablehlo.clamp %low, %y, %high : tensor<64x64xf32>
                  %next = sdy.sharding_constraint %1 <@mesh, [{{"x"}}, {{}}]> : tensor<64x64xf32>
                  stablehlo.return %j, %next : tensor<i32>, tensor<64x64xf32>
                }}
              return %r#1 : tensor<64x64xf32>
            }}"#
        );
        around("plan", r#""x"=4"#, &program)
    }

    #[test]
    fn loop_invariant_operands_are_resharded_rather_than_what_the_loop_carries() {
        let done = planned("stablehlo.constant dense<100>");
        assert_eq!(done.shardings("stablehlo.clamp"), [r#"[{"x"}, {}]"#]);
    }

    #[test]
    fn a_loop_with_an_unknown_trip_count_pays_for_each_reshard() {
        let done = planned("stablehlo.negate %m");
        assert_eq!(done.shardings("stablehlo.clamp"), [r#"[{}, {"x"}]"#]);
    }

    #[test]
    fn a_loop_of_one_trip_pays_for_each_reshard() {
        let done = planned("stablehlo.constant dense<1>");
        assert_eq!(done.shardings("stablehlo.clamp"), [r#"[{}, {"x"}]"#]);
    }
}
