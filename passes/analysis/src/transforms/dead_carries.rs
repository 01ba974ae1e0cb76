//! Dead loop-carried value elimination: removes a carried value of a `while` if its result has no users and no live value depends on it.
//!
//! Differentiation adds stacks of residuals to a loop. If the backward pass recomputes the loop, the stacks of the original loop are dead.
//!
//! Conditions, for each carried value:
//! * the loop's result has no users, and the condition does not use the value;
//! * no live carried value, and no operation of the body with side effects, is computed from it.

use rustc_hash::FxHashSet;
use shardc_ir::{Effect, Module, OpId, OpKind, RegionId, UseCounts, ValueDef, ValueId};

/// Removes dead loop-carried values from the loops under `region`, with the operations that compute only dead values. Returns whether there
/// were any.
pub(super) fn drop_dead_carries(module: &mut Module, region: RegionId) -> bool {
    let order = module.walk(region);
    let loops: Vec<OpId> =
        order.iter().copied().filter(|&op| matches!(module.ops[op].kind, OpKind::While)).collect();
    if loops.is_empty() {
        return false;
    }
    let uses = UseCounts::of(module, &order);
    let mut any = false;
    for op in loops {
        let is_read = |&value: &ValueId| uses.get(value) > 0;
        if module.ops[op].results.iter().all(is_read) {
            continue;
        }
        if let Some(live) = Live::of(module, op, &uses)
            && live.carries.contains(&false)
        {
            live.keep(module, op);
            any = true;
        }
    }
    any
}

/// The carried values and operations of a loop that are live.
struct Live {
    /// Whether each carried value is live.
    carries: Vec<bool>,
    /// The operations of the body that are live: they compute live values or have side effects.
    ops: FxHashSet<OpId>,
}

impl Live {
    /// Computes which carried values and operations of a loop are live. Returns `None` if the loop is malformed.
    fn of(module: &Module, op: OpId, uses: &UseCounts) -> Option<Live> {
        let data = &module.ops[op];
        let &[cond, body] = data.regions.as_slice() else { return None };
        let returned = module.ops[module.terminator(body)?].operands.as_slice();
        let args = module.regions[cond].args.iter().zip(&module.regions[body].args);
        if returned.len() != data.results.len() || args.len() != data.results.len() {
            return None;
        }
        let mut live = Live { carries: vec![false; returned.len()], ops: FxHashSet::default() };
        let mut todo: Vec<ValueId> = Vec::new();
        for (i, (&result, &arg)) in data.results.iter().zip(&module.regions[cond].args).enumerate() {
            if uses.get(result) > 0 || uses.get(arg) > 0 {
                live.carries[i] = true;
                todo.push(returned[i]);
            }
        }
        for &inner in &module.regions[body].ops {
            let effect = module.ops[inner].kind.def().effect;
            if effect != Effect::Ends && !has_no_effect(module, inner) {
                live.op(module, inner, &mut todo);
            }
        }
        while let Some(value) = todo.pop() {
            match module.values[value].def() {
                ValueDef::Arg(region, i) if region == body => {
                    if !std::mem::replace(live.carries.get_mut(i as usize)?, true) {
                        todo.push(returned[i as usize]);
                    }
                }
                ValueDef::Result(made, _) => live.op(module, made, &mut todo),
                ValueDef::Arg(..) => {}
            }
        }
        Some(live)
    }

    /// Marks an operation as live.
    fn op(&mut self, module: &Module, op: OpId, todo: &mut Vec<ValueId>) {
        if self.ops.insert(op) {
            todo.extend(&module.ops[op].operands);
            let inside = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
            todo.extend(inside.flat_map(|op| module.ops[op].operands.iter().copied()));
        }
    }

    /// Rewrites the loop without its dead carried values and operations.
    fn keep(&self, module: &mut Module, op: OpId) {
        let [cond, body] = [module.ops[op].regions[0], module.ops[op].regions[1]];
        module.retain_ops(body, |module, inner| {
            self.ops.contains(&inner) || matches!(module.ops[inner].kind, OpKind::Return)
        });
        let is_live = |i: usize| self.carries[i];
        let by_place = |values: &mut dyn Iterator<Item = ValueId>| -> Vec<ValueId> {
            values.enumerate().filter(|(i, _)| is_live(*i)).map(|(_, value)| value).collect()
        };
        if let Some(end) = module.terminator(body) {
            let kept = by_place(&mut module.ops[end].operands.iter().copied());
            module.ops[end].operands = kept.into_iter().collect();
        }
        let kept = by_place(&mut module.ops[op].operands.iter().copied());
        module.ops[op].operands = kept.into_iter().collect();
        module.retain_args(cond, is_live);
        module.retain_args(body, is_live);
        module.retain_results(op, is_live);
    }
}

/// Whether an operation, with its regions, has no side effects. A `while` is assumed to terminate.
fn has_no_effect(module: &Module, op: OpId) -> bool {
    let is_harmless = |op: OpId| {
        let effect = module.ops[op].kind.def().effect;
        effect.is_pure() || matches!(effect, Effect::MayNotEnd | Effect::Ends)
    };
    let inside = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    is_harmless(op) && inside.into_iter().all(is_harmless)
}

#[cfg(test)]
mod tests {
    use super::super::dce::dce;

    #[test]
    fn an_unused_stack_is_removed() {
        let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
            %n = stablehlo.constant dense<0> : tensor<i32>
            %s = stablehlo.constant dense<0.0> : tensor<3x4xf32>
            %r:4 = stablehlo.while(%i = %n, %a = %x, %stack = %s, %unused = %x) : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32> cond {
              %three = stablehlo.constant dense<3> : tensor<i32>
              %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %c : tensor<i1>
            } do {
              %one = stablehlo.constant dense<1> : tensor<i32>
              %zero = stablehlo.constant dense<0> : tensor<i32>
              %j = stablehlo.add %i, %one : tensor<i32>
              %b = stablehlo.cosine %a : tensor<4xf32>
              %row = stablehlo.reshape %b : (tensor<4xf32>) -> tensor<1x4xf32>
              %new = stablehlo.dynamic_update_slice %stack, %row, %i, %zero : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
              %u = stablehlo.sine %unused : tensor<4xf32>
              stablehlo.return %j, %b, %new, %u : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>
            }
            return %r#1 : tensor<4xf32> }";
        let mut module = shardc_stablehlo::parse(text).unwrap();
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        dce(&mut module, body);
        shardc_ir::verify(&module).unwrap();
        let text = shardc_stablehlo::print(&module, &shardc_stablehlo::PrintOptions::default());
        assert!(!text.contains("dynamic_update_slice") && !text.contains("stablehlo.sine"), "{text}");
        assert!(
            text.contains("cosine") && text.contains("return %1, %2 : tensor<i32>, tensor<4xf32>"),
            "{text}"
        );
    }
}
