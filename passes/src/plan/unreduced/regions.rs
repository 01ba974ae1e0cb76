//! Unreduced shardings across loops, branches and barriers.
//!
//! Annotations mark producers and users as unreduced, but loop-carried values and branch results usually have no annotation.
//!
//! * A loop-carried value is unreduced if the body returns an unreduced value. A gradient that is accumulated over micro-batches thus stays
//!   a partial sum until after the loop. If the body returns a reduced value, the loop carries the reduced value.
//! * The result of a barrier is unreduced if it is annotated as unreduced, or else if its operand is unreduced.
//!
//! Every choice is correct: a carried partial sum is reduced where a user needs the reduced value.

use rustc_hash::FxHashSet;
use shardc_ir::{AxisList, Module, OpId, OpKind, ReductionKind, RegionId, TensorSharding, ValueId};

use crate::analysis::linear::passes;
use crate::analysis::regions::program_ops;
use crate::sharding::axes::{Parts, parts};

/// The maximum number of values that are visited to determine whether a value is unreduced.
const MAX_VALUES: usize = 64;

/// Assigns unreduced shardings to values that enter or leave the regions nested in `body`. All values have closed shardings.
pub(crate) fn settle(module: &mut Module, body: RegionId) {
    region(module, body);
}

/// Whether some value under `body` is unreduced.
pub(crate) fn any_unreduced(module: &Module, body: RegionId) -> bool {
    let is_unreduced = |&v: &ValueId| unreduced_of(module, v).is_some();
    module.regions[body].args.iter().any(is_unreduced)
        || program_ops(module, body).iter().any(|&op| module.ops[op].results.iter().any(is_unreduced))
}

/// The axes over which a value is unreduced, and the kind of reduction.
pub(super) type Unreduced = (AxisList, ReductionKind);

pub(crate) fn unreduced_of(module: &Module, value: ValueId) -> Option<Unreduced> {
    let sharding = module.shardings.sharding_of(value)?;
    (!sharding.unreduced.is_empty()).then(|| (sharding.unreduced.clone(), sharding.reduction))
}

fn region(module: &mut Module, at: RegionId) {
    for op in module.regions[at].ops.clone() {
        match module.ops[op].kind {
            OpKind::OptimizationBarrier => {
                for i in 0..module.ops[op].results.len() {
                    let (operand, result) = (module.ops[op].operands[i], module.ops[op].results[i]);
                    let wanted = unreduced_of(module, result).or_else(|| unreduced_of(module, operand));
                    set(module, result, wanted);
                }
            }
            OpKind::While => carried(module, op),
            OpKind::Case | OpKind::If => returned(module, op),
            OpKind::ManualComputation(_) => {
                for inner in module.ops[op].regions.clone() {
                    region(module, inner);
                }
            }
            _ => {}
        }
    }
}

fn carried(module: &mut Module, op: OpId) {
    let regions = module.ops[op].regions.clone();
    let count = module.ops[op].results.len();
    let args = |module: &Module, i: usize| {
        regions.iter().filter_map(|&r| module.regions[r].args.get(i)).copied().collect::<Vec<_>>()
    };
    let assumed: Vec<Option<Unreduced>> = (0..count)
        .map(|i| {
            let (first, result) = (module.ops[op].operands[i], module.ops[op].results[i]);
            unreduced_of(module, result).or_else(|| unreduced_of(module, first))
        })
        .collect();
    // Inner loops depend on the sharding of the loop-carried value. It therefore gets the sharding of the loop's result before they are
    // visited.
    for (i, assumed) in assumed.iter().enumerate() {
        for arg in args(module, i) {
            if let Some(id) = module.shardings.of(module.ops[op].results[i]) {
                module.shardings.set(arg, Some(id));
            }
            set(module, arg, assumed.clone());
        }
    }
    for &inner in &regions {
        region(module, inner);
    }
    let end = regions.last().and_then(|&body| module.terminator(body));
    for (i, assumed) in assumed.into_iter().enumerate() {
        let next = end.and_then(|end| module.ops[end].operands.get(i).copied());
        let found = next.and_then(|value| {
            let declared = unreduced_of(module, value);
            declared.or_else(|| assumed.filter(|assumed| is_produced_unreduced(module, value, assumed)))
        });
        for value in args(module, i).into_iter().chain([module.ops[op].results[i]]) {
            set(module, value, found.clone());
        }
    }
}

fn returned(module: &mut Module, op: OpId) {
    let regions = module.ops[op].regions.clone();
    for &inner in &regions {
        region(module, inner);
    }
    let ends: Vec<OpId> = regions.iter().filter_map(|&r| module.terminator(r)).collect();
    for i in 0..module.ops[op].results.len() {
        let result = module.ops[op].results[i];
        let values: Vec<ValueId> =
            ends.iter().filter_map(|&end| module.ops[end].operands.get(i).copied()).collect();
        let declared = values.iter().find_map(|&value| unreduced_of(module, value));
        let requested = unreduced_of(module, result);
        let requested = requested
            .filter(|requested| values.iter().any(|&value| is_produced_unreduced(module, value, requested)));
        set(module, result, declared.or(requested));
    }
}

/// Sets the unreduced axes of a value's sharding, unless these axes shard the value.
pub(crate) fn set(module: &mut Module, value: ValueId, wanted: Option<Unreduced>) {
    let Some(sharding) = module.shardings.sharding_of(value) else { return };
    let (unreduced, reduction) = wanted.unwrap_or_default();
    let new = TensorSharding { unreduced, reduction, ..sharding.clone() };
    let mesh = &module.meshes[new.mesh];
    let over = parts(mesh, &new.unreduced);
    if new.split_axes().any(|axis| overlaps(&parts(mesh, &[axis]), &over)) {
        return;
    }
    let id = module.shardings.intern(new);
    module.shardings.set(value, Some(id));
}

fn overlaps(a: &Parts, b: &Parts) -> bool {
    a.iter().any(|p| b.iter().any(|q| p.overlaps(*q)))
}

/// Whether a value is unreduced as `wanted` without a conversion. This holds if the value is annotated, is produced by a matmul that
/// contracts a sharded dimension, or is computed from such a value by linear operations.
pub(crate) fn is_produced_unreduced(module: &Module, value: ValueId, wanted: &Unreduced) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        if seen.len() > MAX_VALUES || !seen.insert(value) {
            continue;
        }
        let Some(sharding) = module.shardings.sharding_of(value) else { continue };
        let mesh = &module.meshes[sharding.mesh];
        let over = parts(mesh, &wanted.0);
        if sharding.reduction == wanted.1 && overlaps(&parts(mesh, &sharding.unreduced), &over) {
            return true;
        }
        let Some(op) = module.def_op(value) else { continue };
        let data = &module.ops[op];
        if matches!(data.kind, OpKind::ShardingConstraint(_) | OpKind::Reshard(_)) {
            continue;
        }
        let splits = |&v: &ValueId| {
            let axes = module.shardings.sharding_of(v).map(|s| s.split_axes().collect::<AxisList>());
            axes.is_some_and(|axes| overlaps(&parts(mesh, &axes), &over))
        };
        // If the axes shard an operand of a matmul but not its result, the matmul contracts a sharded dimension.
        if wanted.1 == ReductionKind::Add
            && data.kind.def().work == shardc_ir::Work::Contraction
            && data.operands.iter().any(splits)
            && !splits(&value)
        {
            return true;
        }
        let index = data.results.iter().position(|&v| v == value);
        match data.kind {
            OpKind::OptimizationBarrier => {
                rest.extend(index.and_then(|i| data.operands.get(i)));
                continue;
            }
            OpKind::Case | OpKind::If => {
                let ends = data.regions.iter().filter_map(|&r| module.terminator(r));
                rest.extend(ends.filter_map(|end| module.ops[end].operands.get(index?)));
                continue;
            }
            _ => {}
        }
        let takes = passes(module, op, wanted.1);
        rest.extend(data.operands.iter().enumerate().filter(|&(i, _)| takes.takes(i)).map(|(_, &v)| v));
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const REDUCED: &str = "[{}, {}]";
    const UNREDUCED: &str = r#"[{}, {}], unreduced={"x"}"#;

    /// Runs the pass on a program with the matmul `%p`, which is computed as partial sums.
    fn propagated(rest: &str) -> Around {
        let program = format!(
            r#"func.func @main(
                %x: tensor<8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %w: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %y: tensor<8x8xf32>, %condition: tensor<i1>) -> tensor<8x8xf32> {{
              %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
              %first = sdy.sharding_constraint %p <@mesh, [{{}}, {{}}], unreduced={{"x"}}> : tensor<8x8xf32>
              {rest}
            }}"#
        );
        around("propagate-unreduced", r#""x"=4"#, &program)
    }

    /// Runs the pass on a program with a loop that carries `%v`, starting at `first`, and whose body returns the value of `next`.
    fn carried(first: &str, next: &str) -> Around {
        propagated(&format!(
            r#"%zero = stablehlo.constant dense<0> : tensor<i32>
            %r:2 = stablehlo.while(%i = %zero, %v = {first}) : tensor<i32>, tensor<8x8xf32>
              cond {{
                %n = stablehlo.constant dense<4> : tensor<i32>
                %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %c : tensor<i1>
              }} do {{
                %one = stablehlo.constant dense<1> : tensor<i32>
                %j = stablehlo.add %i, %one : tensor<i32>
                {next}
                stablehlo.return %j, %next : tensor<i32>, tensor<8x8xf32>
              }}
            return %r#1 : tensor<8x8xf32>"#
        ))
    }

    #[test]
    fn an_accumulated_gradient_stays_unreduced_until_after_the_loop() {
        let done = carried(
            "%y",
            r#"%g = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
            %sum = stablehlo.add %v, %g : tensor<8x8xf32>
            %next = sdy.sharding_constraint %sum <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.while"), ["[]", UNREDUCED]);
        assert_eq!(done.shardings("stablehlo.dot_general"), [UNREDUCED]);
    }

    #[test]
    fn an_unreduced_initial_value_stays_unreduced_through_a_linear_body() {
        let done = carried("%first", "%next = stablehlo.negate %v : tensor<8x8xf32>");
        assert_eq!(done.shardings("stablehlo.while"), ["[]", UNREDUCED]);
        assert_eq!(done.shardings("stablehlo.negate"), [UNREDUCED]);
    }

    #[test]
    fn a_loop_that_returns_a_reduced_value_carries_it_reduced() {
        let done = carried("%first", "%next = stablehlo.exponential %v : tensor<8x8xf32>");
        assert_eq!(done.shardings("stablehlo.while"), ["[]", REDUCED]);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_barrier_keeps_its_operand_unreduced() {
        let done = propagated(
            "%r = stablehlo.optimization_barrier %first : tensor<8x8xf32>
            return %r : tensor<8x8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.optimization_barrier"), [UNREDUCED]);
    }

    /// Runs the pass on a program with a branch on `%condition` whose result is annotated as unreduced.
    fn branched(then: &str) -> Around {
        propagated(&format!(
            r#"%b = "stablehlo.if"(%condition) ({{
              {then}
              stablehlo.return %t : tensor<8x8xf32>
            }}, {{
              stablehlo.return %y : tensor<8x8xf32>
            }}) : (tensor<i1>) -> tensor<8x8xf32>
            %r = sdy.sharding_constraint %b <@mesh, [{{}}, {{}}], unreduced={{"x"}}> : tensor<8x8xf32>
            return %r : tensor<8x8xf32>"#
        ))
    }

    #[test]
    fn a_branch_result_is_unreduced_if_one_branch_produces_partial_sums() {
        let done = branched(
            "%t = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.if"), [UNREDUCED]);
        assert_eq!(done.shardings("stablehlo.dot_general"), [UNREDUCED]);
    }

    #[test]
    fn a_branch_result_is_reduced_if_no_branch_produces_partial_sums() {
        let done = branched("%t = stablehlo.negate %y : tensor<8x8xf32>");
        assert_eq!(done.shardings("stablehlo.if"), [REDUCED]);
    }
}
