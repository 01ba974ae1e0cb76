//! Backward propagation of unreduced shardings: values between an unreduced producer and an unreduced use stay unreduced.
//!
//! Without this pass, the operand of an unannotated operation between the producer and the use would be all-reduced, and all devices except
//! one would then discard the sum. Operations are visited in reverse order, so users come before producers.
//!
//! A value becomes unreduced if it is produced as partial sums, and
//!
//! * all its users take partial sums; or
//! * its only user is light, linear in it, and has a result that is no larger. The all-reduce then comes after that user.

use shardc_ir::{
    Module, OpId, OpKind, PackedOption, ReductionKind, RegionId, SecondaryMap, ShardingId, TensorType, Uses,
    ValueId, Work,
};

use super::regions::{Unreduced, is_produced_unreduced, set, unreduced_of};
use crate::analysis::linear::{Passes, passes};
use crate::analysis::reducer::is_identity;
use crate::analysis::regions::program_ops;

/// Makes those values in `body` and its nested regions unreduced that are produced and used as partial sums. `results` are the shardings
/// that the function returns.
pub(crate) fn flow(module: &mut Module, body: RegionId, results: &[Option<ShardingId>]) {
    let mut parents: SecondaryMap<RegionId, PackedOption<OpId>> = SecondaryMap::new();
    for op in program_ops(module, body) {
        for &region in &module.ops[op].regions {
            parents[region] = op.into();
        }
    }
    let uses = module.uses();
    let mut regions: SecondaryMap<OpId, PackedOption<RegionId>> = SecondaryMap::new();
    let all = std::iter::once(body).chain(parents.keys().filter(|&r| parents[r].is_some()));
    for region in all {
        if let Some(end) = module.terminator(region) {
            regions[end] = region.into();
        }
    }
    Flow { uses, parents, regions, results }.region(module, body);
}

struct Flow<'a> {
    uses: Uses,
    /// The operation that contains each region; none for the function's body.
    parents: SecondaryMap<RegionId, PackedOption<OpId>>,
    /// The region of each terminator.
    regions: SecondaryMap<OpId, PackedOption<RegionId>>,
    results: &'a [Option<ShardingId>],
}

impl Flow<'_> {
    fn region(&self, module: &mut Module, region: RegionId) {
        for &op in module.regions[region].ops.clone().iter().rev() {
            let data = &module.ops[op];
            let flows = match data.kind {
                // The result of a constraint, reshard, loop or manual computation is annotated, or has the sharding of an operand.
                OpKind::ShardingConstraint(_)
                | OpKind::Reshard(_)
                | OpKind::While
                | OpKind::ManualComputation(_) => false,
                _ => true,
            };
            for result in data.results.clone() {
                if flows && unreduced_of(module, result).is_none() {
                    let found = self.form_for_users(module, result);
                    if found.is_some() {
                        set(module, result, found);
                    }
                }
            }
            for inner in module.ops[op].regions.clone() {
                if self.parents[inner].is_some() {
                    self.region(module, inner);
                }
            }
        }
    }

    /// Returns the unreduced axes that all users of a value accept, if its producer provides them. Either some user must take partial sums,
    /// or the value must have only one user.
    fn form_for_users(&self, module: &Module, value: ValueId) -> Option<Unreduced> {
        let readers = self.uses.of(value);
        let mut wanted: Option<Unreduced> = None;
        for &(op, i) in readers {
            match self.operand_form(module, op, i as usize) {
                OperandForm::Reduced => return None,
                OperandForm::Either => {}
                OperandForm::Unreduced(by) if *wanted.get_or_insert_with(|| by.clone()) != by => return None,
                OperandForm::Unreduced(_) => {}
            }
        }
        let maker = module.def_op(value)?;
        let as_made = || {
            module.ops[maker]
                .operands
                .iter()
                .find_map(|&v| unreduced_of(module, v))
                .filter(|_| readers.len() == 1)
        };
        wanted.or_else(as_made).filter(|wanted| is_produced_unreduced(module, value, wanted))
    }

    /// Returns the form in which an operation accepts its operand `i`.
    fn operand_form(&self, module: &Module, op: OpId, i: usize) -> OperandForm {
        let data = &module.ops[op];
        let as_value = |value: Option<&ValueId>| match value.and_then(|&v| unreduced_of(module, v)) {
            Some(by) => OperandForm::Unreduced(by),
            None => OperandForm::Reduced,
        };
        match data.kind {
            OpKind::Return => match self.regions[op].expand().map(|region| self.parents[region].expand()) {
                Some(Some(parent)) => as_value(module.ops[parent].results.get(i)),
                Some(None) => {
                    let sharding = self.results.get(i).and_then(|id| Some(module.shardings.get((*id)?)));
                    match sharding.filter(|s| !s.unreduced.is_empty()) {
                        Some(s) => OperandForm::Unreduced((s.unreduced.clone(), s.reduction)),
                        None => OperandForm::Reduced,
                    }
                }
                None => OperandForm::Reduced,
            },
            OpKind::While | OpKind::OptimizationBarrier => as_value(data.results.get(i)),
            OpKind::ShardingConstraint(_) | OpKind::Reshard(_) => as_value(data.results.first()),
            _ => self.form_for_operation(module, op, i),
        }
    }

    fn form_for_operation(&self, module: &Module, op: OpId, i: usize) -> OperandForm {
        let data = &module.ops[op];
        let (&[result], Some(&value)) = (data.results.as_slice(), data.operands.get(i)) else {
            return OperandForm::Reduced;
        };
        let wanted = unreduced_of(module, result);
        let by = wanted.as_ref().map_or(ReductionKind::Add, |wanted| wanted.1);
        let takes = passes(module, op, by);
        if !takes.takes(i) {
            return OperandForm::Reduced;
        }
        if let Some(wanted) = wanted {
            // A multiplication accepts partial sums in only one operand.
            let mut others = data.operands.iter().enumerate().filter(|&(j, _)| j != i);
            let alone =
                takes != Passes::Either || !others.any(|(_, &v)| is_produced_unreduced(module, v, &wanted));
            return if alone { OperandForm::Unreduced(wanted) } else { OperandForm::Reduced };
        }
        let bytes = |v: ValueId| module.stored(v).and_then(TensorType::num_bytes);
        let is_less = bytes(result).zip(bytes(value)).is_some_and(|(result, value)| result <= value);
        // An addition, for example, needs all operands unreduced: its other operands would have to be converted to partial sums.
        let is_with_others = data.operands.iter().enumerate().any(|(j, &v)| {
            j != i
                && takes != Passes::Either
                && takes.takes(j)
                && !is_identity(module, v, by)
                && unreduced_of(module, v).is_none()
        });
        if data.kind.def().work == Work::Light && is_less && !is_with_others && takes != Passes::Either {
            OperandForm::Either
        } else {
            OperandForm::Reduced
        }
    }
}

/// The form in which an operation accepts an operand.
enum OperandForm {
    /// As partial sums; the result is also unreduced.
    Unreduced(Unreduced),
    /// In either form. The result is no larger than the operand, so the sum is reduced after the operation.
    Either,
    Reduced,
}

#[cfg(test)]
mod tests {
    use crate::plan::testing::{Around, around};

    const REDUCED: &str = "[{}, {}]";
    const UNREDUCED: &str = r#"[{}, {}], unreduced={"x"}"#;

    /// Runs the pass on a program with these users of the matmul `%p`, which is computed as partial sums.
    fn propagated(results: &str, users: &str) -> Around {
        let program = format!(
            r#"func.func @main(
                %x: tensor<8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}},
                %w: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> {results} {{
              %zero = stablehlo.constant dense<0.0> : tensor<f32>
              %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
              {users}
            }}"#
        );
        around("propagate-unreduced", r#""x"=4"#, &program)
    }

    #[test]
    fn a_value_between_a_matmul_and_an_unreduced_user_is_unreduced() {
        let done = propagated(
            "tensor<8x8xf32>",
            r#"%n = stablehlo.negate %p : tensor<8x8xf32>
            %r = sdy.sharding_constraint %n <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            return %r : tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.dot_general"), [UNREDUCED]);
    }

    #[test]
    fn a_nonlinear_user_needs_the_reduced_value() {
        let done = propagated(
            "tensor<8x8xf32>",
            r#"%n = stablehlo.exponential %p : tensor<8x8xf32>
            %r = sdy.sharding_constraint %n <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            return %r : tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.dot_general"), [REDUCED]);
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn a_value_that_one_user_needs_reduced_is_reduced() {
        let done = propagated(
            "(tensor<8x8xf32>, tensor<8x8xf32>)",
            r#"%n = stablehlo.negate %p : tensor<8x8xf32>
            %r = sdy.sharding_constraint %n <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            %e = stablehlo.exponential %p : tensor<8x8xf32>
            return %r, %e : tensor<8x8xf32>, tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.dot_general"), [REDUCED]);
    }

    #[test]
    fn one_factor_of_a_product_at_most_is_unreduced() {
        let done = propagated(
            "tensor<8x8xf32>",
            r#"%q = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
            %n = stablehlo.multiply %p, %q : tensor<8x8xf32>
            %r = sdy.sharding_constraint %n <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            return %r : tensor<8x8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.dot_general"), [REDUCED, REDUCED]);
    }

    #[test]
    fn an_all_reduce_comes_after_a_light_user_with_a_smaller_result() {
        let done = propagated(
            "tensor<8xf32>",
            r#"%c = sdy.sharding_constraint %p <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            %n = stablehlo.negate %c : tensor<8x8xf32>
            %r = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
            return %r : tensor<8xf32>"#,
        );
        assert_eq!(done.shardings("stablehlo.negate"), [UNREDUCED]);
        assert_eq!(done.shardings("stablehlo.reduce"), ["[{}]"]);
    }

    #[test]
    fn an_all_reduce_does_not_come_after_a_user_with_a_larger_result() {
        let done = propagated(
            "tensor<4x8x8xf32>",
            r#"%c = sdy.sharding_constraint %p <@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
            %n = stablehlo.negate %c : tensor<8x8xf32>
            %r = stablehlo.broadcast_in_dim %n, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
            return %r : tensor<4x8x8xf32>"#,
        );
        assert!(done.is_same(), "{}", done.after);
    }

    #[test]
    fn nothing_is_unreduced_unless_an_annotation_or_a_matmul_makes_it_so() {
        let done = propagated(
            "tensor<8x8xf32>",
            r#"%n = stablehlo.negate %p : tensor<8x8xf32>
            return %n : tensor<8x8xf32>"#,
        );
        assert!(done.is_same(), "{}", done.after);
    }
}
