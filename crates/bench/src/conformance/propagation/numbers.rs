//! Numbers the operations of a program, to match them in the output of two compilers: an inlined, copied or moved operation keeps its
//! number.

use std::collections::BTreeMap;

use shardc_ir::{Attr, Module, OpId, OpKind, RegionId, ShardingId, TensorSharding, ValueDef, ValueId};

/// The attribute that holds the number.
const NUMBER: &str = "shardc.number";

/// The shardings of a propagated program as text; `-` for unsharded values.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) args: Vec<String>,
    pub(super) results: Vec<String>,
    /// Shardings of constraints, keyed by the constrained value; sorted if there are several.
    pub(super) constraints: BTreeMap<String, Vec<String>>,
    /// Maps each number to the operations that have it, in program order.
    pub(super) ops: BTreeMap<i64, Vec<OpId>>,
    /// Maps each number to the shardings of the results of the operations that have it.
    pub(super) values: BTreeMap<i64, Vec<String>>,
}

/// Numbers the operations of every function, except those in the bodies of reductions and similar operations.
pub(super) fn number(module: &mut Module) {
    let mut next = 0;
    let mut regions: Vec<RegionId> = module.bodies().collect();
    while let Some(region) = regions.pop() {
        for op in module.regions[region].ops.clone() {
            let data = &mut module.ops[op];
            match data.kind {
                OpKind::While
                | OpKind::Case
                | OpKind::If
                | OpKind::ManualComputation(_)
                | OpKind::NamedComputation(_) => regions.extend(&data.regions),
                OpKind::Call { .. } => continue,
                _ if data.results.is_empty() => continue,
                _ => {}
            }
            next += 1;
            data.attrs.set(NUMBER, Attr::Int(next, "i64".into()));
        }
    }
}

/// The operations that count as constraints of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraints {
    /// Sharding constraints of the original program, which have a number.
    Numbered,
    /// Reshards, to which Shardy converts sharding constraints.
    Reshards,
}

/// Collects the shardings of a propagated program with inlined calls.
pub(super) fn find(module: &Module, which: Constraints) -> Found {
    let mut found = Found::default();
    let Some((func, body)) = module.entry().and_then(|f| Some((f, module.funcs[f].body?))) else {
        return found;
    };
    let text = |value: &ValueId| text(module, module.shardings.of(*value));
    found.args = module.regions[body].args.iter().map(text).collect();
    let data = &module.funcs[func];
    let result = |i: usize| self::text(module, data.res_shardings.get(i).and_then(|s| s.expand()));
    found.results = (0..data.results.len()).map(result).collect();
    for op in module.walk(body) {
        let data = &module.ops[op];
        let number = match data.attrs.get(NUMBER) {
            Some(Attr::Int(number, _)) => Some(*number),
            _ => None,
        };
        match &data.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => {
                let is_own = match which {
                    Constraints::Numbered => number.is_some(),
                    Constraints::Reshards => matches!(data.kind, OpKind::Reshard(_)),
                };
                if is_own && let Some(&operand) = data.operands.first() {
                    let list = found.constraints.entry(root(module, operand)).or_default();
                    list.push(self::text(module, Some(*id)));
                    list.sort();
                }
                continue;
            }
            OpKind::ManualComputation(spec) => {
                let sides = spec.in_shardings.iter().chain(&spec.out_shardings);
                let sides = sides.map(|&id| self::text(module, Some(id)));
                let place = format!("manual computation {}", number.unwrap_or_default());
                found.constraints.entry(place).or_default().push(sides.collect::<Vec<_>>().join(" "));
                continue;
            }
            _ => {}
        }
        if let Some(number) = number {
            found.ops.entry(number).or_default().push(op);
            let all = data.results.iter().map(text).collect::<Vec<_>>().join(" ");
            found.values.entry(number).or_default().push(all);
        }
    }
    found
}

/// The text of a sharding; `-` for an unsharded value.
fn text(module: &Module, sharding: Option<ShardingId>) -> String {
    match sharding.map(|id| module.shardings.get(id)) {
        Some(s) if !(s.is_unsplit() && s.unreduced.is_empty()) => s.closed().display(&module.meshes[s.mesh]),
        _ => "-".to_owned(),
    }
}

/// The name of a value: `result i of operation n`, or `argument i`. The result of a sharding constraint has the name of its operand.
fn root(module: &Module, value: ValueId) -> String {
    let mut value = value;
    loop {
        match module.values[value].def() {
            ValueDef::Arg(region, i) => {
                let owner = module.ops.iter().find(|(_, op)| op.regions.contains(&region));
                let number = owner.and_then(|(_, op)| op.attrs.get(NUMBER));
                return match number {
                    Some(Attr::Int(number, _)) => format!("argument {i} in operation {number}"),
                    _ => format!("argument {i}"),
                };
            }
            ValueDef::Result(op, i) => {
                let data = &module.ops[op];
                match (&data.kind, data.operands.first(), data.attrs.get(NUMBER)) {
                    (OpKind::ShardingConstraint(_) | OpKind::Reshard(_), Some(&operand), _) => {
                        value = operand
                    }
                    (_, _, Some(Attr::Int(number, _))) => return format!("result {i} of operation {number}"),
                    (kind, ..) => return format!("result {i} of {}", kind.name()),
                }
            }
        }
    }
}

/// Copies the shardings of the results of `theirs`, an operation of a module with the same meshes, to the results of `ours`, and to the
/// region arguments if `ours` is a loop.
pub(super) fn take_over(module: &mut Module, ours: OpId, from: &Module, theirs: OpId) {
    let (ours_data, theirs_data) = (module.ops[ours].clone(), &from.ops[theirs]);
    for (i, (&to, &value)) in ours_data.results.iter().zip(&theirs_data.results).enumerate() {
        let Some(now) = module.shardings.sharding_of(to) else { continue };
        let (mesh, rank) = (now.mesh, now.rank());
        let sharding = match from.shardings.sharding_of(value) {
            Some(sharding) => TensorSharding { mesh, ..sharding.closed() },
            None => TensorSharding::replicated(mesh, rank),
        };
        let id = module.shardings.intern(sharding);
        module.shardings.set(to, Some(id));
        if matches!(ours_data.kind, OpKind::While) {
            for &region in &ours_data.regions {
                let arg = module.regions[region].args[i];
                module.shardings.set(arg, Some(id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shardc_stablehlo::{PrintOptions, parse, print};

    use super::*;

    const PROGRAM: &str = r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>})
    -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<4x4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {}]> : tensor<4x4xf32>
  %2 = sdy.reshard %1 <@mesh, [{}, {"y"}]> : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
"#;

    #[test]
    fn numbers_survive_the_text() {
        let mut module = parse(PROGRAM).unwrap();
        number(&mut module);
        let found = find(&parse(&print(&module, &PrintOptions::default())).unwrap(), Constraints::Numbered);
        assert_eq!(found.args, [r#"[{"x"}, {}]"#]);
        assert_eq!(found.results, [r#"[{}, {"y"}]"#]);
        assert_eq!(found.values.get(&1), Some(&vec![r#"[{"x"}, {"y"}]"#.to_owned()]));
        // Both constraints apply to the sum, the second one through the result of the first.
        let both = [r#"[{"y"}, {}]"#, r#"[{}, {"y"}]"#].map(str::to_owned);
        assert_eq!(found.constraints.get("result 0 of operation 1"), Some(&both.to_vec()));
        let reshards = find(&module, Constraints::Reshards).constraints;
        assert_eq!(reshards.get("result 0 of operation 1"), Some(&both[1..].to_vec()));
    }

    #[test]
    fn shardings_are_transferred_by_index() {
        let mut module = parse(PROGRAM).unwrap();
        number(&mut module);
        let mut other = module.clone();
        let op = find(&module, Constraints::Numbered).ops[&1][0];
        let sum = module.ops[op].results[0];
        other.shardings.set(sum, None);
        take_over(&mut module, op, &other, op);
        assert_eq!(find(&module, Constraints::Numbered).values[&1], ["-"]);
    }
}
