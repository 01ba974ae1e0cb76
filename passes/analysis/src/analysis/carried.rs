//! Finds the values in loops that carry arguments of a function.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpKind, RegionId, ValueId};

/// Maps each value that carries an argument of `body` to that argument. A value carries an argument if it is the argument itself, a
/// loop-carried value whose initial value carries the argument, or result `i` of an operation accepted by `hands_on` whose operand `i`
/// carries the argument.
///
/// A loop-carried value is included even if the loop updates it, like an accumulator.
#[must_use]
pub fn arguments_in_loops(
    module: &Module,
    body: RegionId,
    hands_on: impl Fn(&OpKind) -> bool,
) -> FxHashMap<ValueId, ValueId> {
    let args = &module.regions[body].args;
    let mut is: FxHashMap<ValueId, ValueId> = args.iter().map(|&arg| (arg, arg)).collect();
    for op in module.walk(body) {
        let data = &module.ops[op];
        for (at, operand) in data.operands.iter().enumerate() {
            let Some(&arg) = is.get(operand) else { continue };
            if matches!(data.kind, OpKind::While) {
                is.extend(data.regions.iter().filter_map(|&r| Some((*module.regions[r].args.get(at)?, arg))));
            } else if hands_on(&data.kind) {
                is.extend(data.results.get(at).map(|&result| (result, arg)));
            }
        }
    }
    is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_carry_arguments() {
        let text = "func.func @main(%w: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
              %r:2 = stablehlo.while(%i = %n, %c = %w) : tensor<i32>, tensor<4xf32>
              cond {
                %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %t : tensor<i1>
              } do {
                %h:2 = stablehlo.optimization_barrier %i, %c : tensor<i32>, tensor<4xf32>
                %d = stablehlo.add %h#1, %h#1 : tensor<4xf32>
                stablehlo.return %h#0, %d : tensor<i32>, tensor<4xf32>
              }
              return %r#1 : tensor<4xf32>
            }";
        let module = shardc_stablehlo::parse(text).unwrap();
        let body = module.bodies().next().unwrap();
        let weight = module.regions[body].args[0];
        let count = |hands_on: fn(&OpKind) -> bool| {
            let of = arguments_in_loops(&module, body, hands_on);
            of.values().filter(|&&arg| arg == weight).count()
        };
        // The argument, and the loop-carried value in the two regions of the loop. The result of the barrier is a fourth value below.
        assert_eq!(count(|_| false), 3);
        assert_eq!(count(|kind| matches!(kind, OpKind::OptimizationBarrier)), 4);
    }
}
