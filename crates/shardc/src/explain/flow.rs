//! Dependences between the values of a function, separately for each position of loops, branches and combined all-reduces.

use shardc_ir::{Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ValueDef, ValueId};

/// The values that some values depend on, including themselves. In loops and branches, a value depends only on the values at its own
/// position, and on the condition.
pub(super) fn depended_on(
    module: &Module,
    values: impl IntoIterator<Item = ValueId>,
) -> SecondaryMap<ValueId, bool> {
    let mut owners: SecondaryMap<RegionId, PackedOption<OpId>> = SecondaryMap::new();
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        module.ops[op].regions.iter().for_each(|&region| owners[region] = op.into());
    }
    let mut search = Search { module, owners, found: SecondaryMap::new(), left: Vec::new() };
    values.into_iter().for_each(|value| search.add(value));
    while let Some(value) = search.left.pop() {
        match module.values[value].def() {
            ValueDef::Result(op, i) => search.result(op, i as usize),
            ValueDef::Arg(region, i) => search.argument(region, i as usize),
        }
    }
    search.found
}

struct Search<'a> {
    module: &'a Module,
    /// The parent operation of each region.
    owners: SecondaryMap<RegionId, PackedOption<OpId>>,
    found: SecondaryMap<ValueId, bool>,
    /// The values whose dependences have not been followed.
    left: Vec<ValueId>,
}

impl Search<'_> {
    fn add(&mut self, value: ValueId) {
        if !std::mem::replace(&mut self.found[value], true) {
            self.left.push(value);
        }
    }

    fn add_at(&mut self, values: &[ValueId], i: usize) {
        if let Some(&value) = values.get(i) {
            self.add(value);
        }
    }

    /// Adds the value that a region returns at a position.
    fn returned(&mut self, region: RegionId, i: usize) {
        if let Some(ret) = self.module.terminator(region) {
            self.add_at(&self.module.ops[ret].operands, i);
        }
    }

    fn result(&mut self, op: OpId, i: usize) {
        let data = &self.module.ops[op];
        match &data.kind {
            OpKind::While => {
                self.add_at(&data.operands, i);
                if let &[condition, body] = data.regions.as_slice() {
                    self.returned(body, i);
                    self.returned(condition, 0);
                }
            }
            OpKind::Case | OpKind::If => {
                data.regions.iter().for_each(|&region| self.returned(region, i));
                data.operands.iter().for_each(|&value| self.add(value));
            }
            OpKind::OptimizationBarrier | OpKind::AllReduce(_) => self.add_at(&data.operands, i),
            _ => data.operands.iter().for_each(|&value| self.add(value)),
        }
    }

    /// The argument of a loop region depends on the initial value and on the value of the previous iteration.
    fn argument(&mut self, region: RegionId, i: usize) {
        let Some(op) = self.owners[region].expand() else { return };
        let data = &self.module.ops[op];
        if matches!(data.kind, OpKind::While) {
            self.add_at(&data.operands, i);
            if let Some(&body) = data.regions.last() {
                self.returned(body, i);
            }
        } else {
            data.operands.iter().for_each(|&value| self.add(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_keep_carried_values_apart() {
        let text = "func.func @main(%w: tensor<4xf32>, %x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
              %r:3 = stablehlo.while(%i = %n, %a = %w, %b = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
              cond {
                %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %t : tensor<i1>
              } do {
                %c = stablehlo.add %a, %a : tensor<4xf32>
                stablehlo.return %i, %c, %b : tensor<i32>, tensor<4xf32>, tensor<4xf32>
              }
              return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>
            }";
        let module = shardc_stablehlo::parse(text).unwrap();
        let body = module.bodies().next().unwrap();
        let returned = module.ops[module.terminator(body).unwrap()].operands.clone();
        let of = |i: usize| {
            let found = depended_on(&module, [returned[i]]);
            let args = &module.regions[body].args;
            args.iter().map(|&arg| found[arg]).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [true, false, true]);
        assert_eq!(of(1), [false, true, true]);
    }
}
