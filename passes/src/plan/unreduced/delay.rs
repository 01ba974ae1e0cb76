//! All-reduce sinking: defers the all-reduce of a `dot_general` past users that shrink it.
//!
//! The partial sums of the matmul stay unreduced, and each user's smaller result is all-reduced instead. One example is the gradient
//! `x^T dy` of a low-rank update `W + A B`, which is only multiplied with `A` and `B`. Another example is the outputs of a mixture of
//! experts, which are added up.
//!
//! Conditions:
//!
//! * The same axes shard the contracting dimensions of both operands.
//! * Between the matmul and its final users, there are only light operations that are linear in the value, and each is the only user of its
//!   operand.
//! * Every final user is a `dot_general` that takes the value as one operand, or an additive `reduce` with initial value zero.
//! * The results of all final users together have at most half of the value's bytes.
//! * No value in between is already unreduced.
//!
//! ```mlir
//! %0 = dot_general %a, %b : ... -> tensor<8x128x256xf32>                 // unreduced over "y"
//! %1 = all_reduce %0
//! %2 = reduce(%1 init: %zero) applies add across dimensions = [0] : ... -> tensor<128x256xf32>
//! ```
//! becomes
//! ```mlir
//! %0 = dot_general %a, %b : ... -> tensor<8x128x256xf32>
//! %1 = reduce(%0 init: %zero) applies add across dimensions = [0] : ... -> tensor<128x256xf32>
//! %2 = all_reduce %1
//! ```

use shardc_ir::{AxisList, Module, OpId, OpKind, ReductionKind, RegionId, TensorType, Uses, ValueId, Work};

use super::regions::{set, unreduced_of};
use crate::analysis::linear::{Passes, passes};
use crate::analysis::reducer::is_identity;
use crate::analysis::regions::program_ops;

/// Leaves the matmul results in `body` and its nested regions unreduced if all their users compute smaller values.
pub(crate) fn keep_unreduced(module: &mut Module, body: RegionId) {
    let uses = module.uses();
    let products: Vec<OpId> = program_ops(module, body)
        .into_iter()
        .filter(|&op| matches!(module.ops[op].kind, OpKind::DotGeneral(_)))
        .collect();
    for op in products {
        let over = summed_over(module, op);
        let &[result] = module.ops[op].results.as_slice() else { continue };
        if over.is_empty() {
            continue;
        }
        let forms = forms(module, &uses, result);
        let last = forms[forms.len() - 1];
        if is_shrunk_by_users(module, &uses, last) && forms.iter().all(|&v| unreduced_of(module, v).is_none())
        {
            for form in forms {
                remove_split_axes(module, form, &over);
            }
            set(module, last, Some((over, ReductionKind::Add)));
        }
    }
}

/// Removes axes from the dimension shardings of a value, because a value cannot be both unreduced over an axis and sharded along it.
fn remove_split_axes(module: &mut Module, value: ValueId, over: &AxisList) {
    let Some(mut sharding) = module.shardings.sharding_of(value).cloned() else { return };
    for dim in &mut sharding.dims {
        dim.axes.retain(|axis| !over.iter().any(|other| other.axis == axis.axis));
    }
    let id = module.shardings.intern(sharding);
    module.shardings.set(value, Some(id));
}

/// Returns the axes that shard the contracting dimensions of both operands of a `dot_general`.
fn summed_over(module: &Module, op: OpId) -> AxisList {
    let data = &module.ops[op];
    let OpKind::DotGeneral(spec) = &data.kind else { return AxisList::new() };
    let of = |value: ValueId| module.shardings.sharding_of(value);
    let (Some(lhs), Some(rhs)) = (of(data.operands[0]), of(data.operands[1])) else { return AxisList::new() };
    let pairs = spec.lhs_contract.iter().zip(&spec.rhs_contract);
    let both = pairs.flat_map(|(&l, &r)| {
        lhs.axes(l as usize).iter().filter(move |axis| rhs.axes(r as usize).contains(axis))
    });
    both.copied().collect()
}

/// Returns a value, followed by the results of the chain of light linear operations that starts at it. The chain ends at the first value
/// with several users, or with a user that is not light and linear.
fn forms(module: &Module, uses: &Uses, value: ValueId) -> Vec<ValueId> {
    let mut forms = vec![value];
    let mut last = value;
    while let &[(op, i)] = uses.of(last) {
        let data = &module.ops[op];
        let &[result] = data.results.as_slice() else { break };
        let takes = passes(module, op, ReductionKind::Add);
        let is_alone =
            takes == Passes::Either || !(0..data.operands.len()).any(|j| j != i as usize && takes.takes(j));
        if data.kind.def().work != Work::Light || !takes.takes(i as usize) || !is_alone {
            break;
        }
        forms.push(result);
        last = result;
    }
    forms
}

/// Whether each user of a value is a `dot_general` or an additive `reduce` from zero, and all their results together have at most half of
/// the value's bytes.
fn is_shrunk_by_users(module: &Module, uses: &Uses, value: ValueId) -> bool {
    let bytes = |v: ValueId| module.stored(v).and_then(TensorType::num_bytes);
    let readers = uses.of(value);
    let takes_addends = |&(op, i): &(OpId, u32)| {
        let data = &module.ops[op];
        let mut others = data.operands.iter().filter(|&&v| v != value);
        let is_alone = others.clone().count() == 1;
        match data.kind {
            OpKind::DotGeneral(_) => is_alone,
            OpKind::Reduce { .. } => {
                let takes = passes(module, op, ReductionKind::Add);
                let is_from_zero = others.all(|&init| is_identity(module, init, ReductionKind::Add));
                is_alone && takes.takes(i as usize) && is_from_zero
            }
            _ => false,
        }
    };
    if readers.is_empty() || !readers.iter().all(takes_addends) {
        return false;
    }
    let made: Option<i64> = readers.iter().map(|&(op, _)| bytes(*module.ops[op].results.first()?)).sum();
    made.zip(bytes(value)).is_some_and(|(made, bytes)| made.saturating_mul(2) <= bytes)
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const REDUCED: &str = "[{}, {}]";
    const UNREDUCED: &str = r#"[{}, {}], unreduced={"x"}"#;

    /// Runs the pass on a program with these users of the matmul `%p`. Axis "x" shards the contracting dimension of its second operand.
    fn delayed(first_operand: &str, results: &str, users: &str) -> Around {
        let program = format!(
            r#"func.func @main(
                %x: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {first_operand}>}},
                %dy: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %narrow: tensor<8x2xf32>, %wide: tensor<8x8xf32>, %init: tensor<f32>) -> {results} {{
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %p = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
              {users}
            }}"#
        );
        around("delay-reductions", r#""x"=4"#, &program)
    }

    #[test]
    fn a_partial_sum_is_delayed_past_a_smaller_matmul() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<8x2xf32>",
            "%r = stablehlo.dot_general %p, %narrow, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
              return %r : tensor<8x2xf32>",
        );
        assert_eq!(done.shardings("stablehlo.dot_general"), [UNREDUCED, REDUCED]);
    }

    #[test]
    fn a_partial_sum_is_delayed_past_a_transpose_and_a_sum() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<8xf32>",
            "%t = stablehlo.transpose %p, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
              %r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
              return %r : tensor<8xf32>",
        );
        assert_eq!(done.shardings("stablehlo.transpose"), [UNREDUCED]);
        assert_eq!(done.shardings("stablehlo.reduce"), ["[{}]"]);
    }

    #[test]
    fn a_maximum_needs_the_reduced_value() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<8xf32>",
            "%r = stablehlo.reduce(%p init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
              return %r : tensor<8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_sum_that_does_not_start_at_zero_needs_the_reduced_value() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<8xf32>",
            "%r = stablehlo.reduce(%p init: %init) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
              return %r : tensor<8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn users_with_results_as_large_as_the_value_delay_nothing() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<8x8xf32>",
            "%r = stablehlo.dot_general %p, %wide, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
              return %r : tensor<8x8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_value_that_is_also_returned_is_reduced_once() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "(tensor<8x2xf32>, tensor<8x8xf32>)",
            "%r = stablehlo.dot_general %p, %narrow, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
              return %r, %p : tensor<8x2xf32>, tensor<8x8xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_square_of_partial_sums_is_not_a_partial_sum() {
        let done = delayed(
            r#"[{"x"}, {}]"#,
            "tensor<f32>",
            "%r = stablehlo.dot_general %p, %p, contracting_dims = [0, 1] x [0, 1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<f32>
              return %r : tensor<f32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_contracting_dimension_split_in_one_operand_delays_nothing() {
        let done = delayed(
            "[{}, {}]",
            "tensor<8x2xf32>",
            "%r = stablehlo.dot_general %p, %narrow, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
              return %r : tensor<8x2xf32>",
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
