//! The given shardings of a program, which a search keeps.

use shardc_ir::{FuncId, Module, OpKind, ValueId};

use super::groups::Group;

/// The shardings that the program or the options give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// The number of arguments with a given sharding, and of all arguments. Scalars are not counted.
    pub(super) arguments: (usize, usize),
    /// The number of results with a given sharding, and of all results. Scalars are not counted.
    pub(super) results: (usize, usize),
    /// Whether values within the program have given shardings.
    pub(super) is_within: bool,
    /// Whether each argument and result without a given sharding is a group of its own, and there is one, so that a search can try all their
    /// shardings.
    pub(super) others_are_groups: bool,
}

impl Given {
    /// The given shardings of a program with these groups of arguments and results.
    pub(super) fn of(module: &Module, func: FuncId, groups: &[Group]) -> Given {
        let Some(body) = module.funcs[func].body else { return Given::default() };
        let is_tensor = |value: ValueId| module.stored(value).is_some() && module.rank(value) > 0;
        let args = module.regions[body].args.iter().copied().filter(|&arg| is_tensor(arg));
        let args: Vec<bool> = args.map(|arg| module.shardings.of(arg).is_some()).collect();
        let returned = module.terminator(body).map(|end| module.ops[end].operands.as_slice());
        let results = returned.unwrap_or_default().iter().enumerate().filter(|&(_, &value)| is_tensor(value));
        let sharding =
            |i: usize| module.funcs[func].res_shardings.get(i).and_then(|sharding| sharding.expand());
        let results: Vec<bool> = results.map(|(i, _)| sharding(i).is_some()).collect();
        let counts = |given: &[bool]| (given.iter().filter(|&&is_given| is_given).count(), given.len());
        let (arguments, results) = (counts(&args), counts(&results));
        let others = arguments.1 - arguments.0 + results.1 - results.0;
        let singles = groups.iter().filter(|group| !group.is_fixed && group.members.len() == 1).count();
        Given {
            arguments,
            results,
            is_within: is_within(module, func),
            others_are_groups: others > 0 && singles == others,
        }
    }

    /// Whether there is a given sharding.
    pub(super) fn is_any(&self) -> bool {
        self.is_within || self.arguments.0 + self.results.0 > 0
    }
}

/// Whether operations of a function have shardings, or constrain those of other values.
fn is_within(module: &Module, func: FuncId) -> bool {
    let Some(body) = module.funcs[func].body else { return false };
    let constrains = |kind: &OpKind| {
        matches!(
            kind,
            OpKind::ShardingConstraint(_)
                | OpKind::Reshard(_)
                | OpKind::ShardingGroup { .. }
                | OpKind::ManualComputation(_)
        )
    };
    let is_sharded = |&value: &ValueId| module.shardings.of(value).is_some();
    module.walk(body).into_iter().any(|op| {
        let data = &module.ops[op];
        constrains(&data.kind) || data.results.iter().any(is_sharded)
    })
}

#[cfg(test)]
mod tests {
    use shardc_target::Target;

    use super::super::AutoOptions;
    use super::super::problem::Problem;
    use super::*;
    use crate::Compiler;

    fn given(x: &str, constraint: &str) -> Given {
        let text = format!(
            r#"
            sdy.mesh @mesh = <["data"=4]>
            func.func @main(%x: tensor<8x8xf32> {x}, %n: tensor<f32>) -> (tensor<8x8xf32>, tensor<f32>) {{
              %0 = stablehlo.tanh %x {constraint} : tensor<8x8xf32>
              return %0, %n : tensor<8x8xf32>, tensor<f32>
            }}"#
        );
        let options = AutoOptions::new("tanh.mlir", "v5e:2x2".parse::<Target>().unwrap());
        let module = Compiler::read(text.as_bytes()).unwrap();
        Problem::new(&Compiler::new(), module, &options).unwrap().given
    }

    #[test]
    fn tensors_and_inner_values_are_counted() {
        let none = given("", "");
        assert_eq!((none.arguments, none.results, none.is_any()), ((0, 1), (0, 1), false));
        let x = given(r#"{sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}"#, "");
        assert_eq!((x.arguments, x.results, x.is_within), ((1, 1), (0, 1), false));
        assert!(x.others_are_groups);
        let inner = given("", r#"{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>}"#);
        assert!(inner.is_within && inner.is_any());
    }
}
