//! Random numbers differ between layers, and between microbatches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;

use shardc_graph::{
    DType::{F32, I32},
    Graph, Key, Mesh, Tensor,
};
use shardc_ir::{Module, OpId, OpKind, RegionId, ValueDef, ValueId};
use shardc_nn::layers::{Dense, Dropout};
use shardc_nn::models::Decoder;
use shardc_nn::{Init, Lora, Scope, optim};

struct Program {
    module: Module,
    /// The operation that contains each region.
    parents: HashMap<RegionId, OpId>,
}

impl Program {
    fn new(build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>) -> Tensor<'g>) -> Self {
        let g = Graph::new("step", &Mesh::new(&[]).unwrap());
        let p = Scope::new(&g);
        let y = build(&g, &p);
        let module = p.finish(&[("y", y)]).unwrap().module;
        let regions = module.ops.iter().flat_map(|(op, data)| data.regions.iter().map(move |&r| (r, op)));
        let parents = regions.collect();
        Program { module, parents }
    }

    /// Returns the values that a value depends on, including values outside of the enclosing loops.
    fn made_of(&self, value: ValueId, found: &mut Vec<ValueId>) {
        if found.contains(&value) {
            return;
        }
        found.push(value);
        match self.module.values[value].def() {
            ValueDef::Result(op, _) => {
                self.module.ops[op].operands.iter().for_each(|&operand| self.made_of(operand, found));
            }
            ValueDef::Arg(region, i) => {
                let around = self.parents.get(&region).map(|&op| self.module.ops[op].operands[i as usize]);
                around.into_iter().for_each(|operand| self.made_of(operand, found));
            }
        }
    }

    /// Returns two numbers for each `select`, which dropout uses to mask elements: the number of enclosing loops, and the number of
    /// these loops on whose iteration number the predicate depends.
    fn drawn(&self) -> Vec<(usize, usize)> {
        let mut drawn = Vec::new();
        let mut open: Vec<(RegionId, Vec<ValueId>)> = self.bodies(None, &[]);
        while let Some((region, numbers)) = open.pop() {
            for &op in &self.module.regions[region].ops {
                let data = &self.module.ops[op];
                open.extend(self.bodies(Some(op), &numbers));
                if matches!(data.kind, OpKind::Select) {
                    let mut found = Vec::new();
                    self.made_of(data.operands[0], &mut found);
                    drawn.push((
                        numbers.len(),
                        numbers.iter().filter(|number| found.contains(number)).count(),
                    ));
                }
            }
        }
        drawn.sort_unstable();
        drawn
    }

    /// Returns the regions of an operation, with the iteration numbers of the enclosing loops: the first carried value of each loop.
    fn bodies(&self, of: Option<OpId>, around: &[ValueId]) -> Vec<(RegionId, Vec<ValueId>)> {
        let regions = match of {
            Some(op) => self.module.ops[op].regions.to_vec(),
            None => vec![self.module.funcs[self.module.entry().unwrap()].body.unwrap()],
        };
        let with = |region: RegionId| {
            let number = self.module.regions[region].args.first().filter(|_| of.is_some());
            (region, around.iter().chain(number).copied().collect())
        };
        regions.into_iter().map(with).collect()
    }
}

#[test]
fn dropout_differs_between_layers() {
    fn drop<'g>(key: Key<'g>, x: Tensor<'g>) -> Tensor<'g> {
        Dropout::new(0.5).apply(Some(key), x)
    }
    let step = Program::new(|g, p| {
        let key = g.key(0);
        p.stack("h", 3, g.ones([16], F32), |p, x| drop(p.key(key), x) + drop(p.at("other").key(key), x))
    });
    assert_eq!(step.drawn(), [(1, 1), (1, 1)]);
    let step = Program::new(|g, p| {
        let key = g.key(0);
        p.stack("stage", 2, g.ones([16], F32), |p, x| p.stack("h", 3, x, |p, x| drop(p.key(key), x)))
    });
    assert_eq!(step.drawn(), [(2, 2)]);
}

#[test]
fn scopes_have_distinct_keys() {
    let shown = |names: [&str; 2]| {
        let step = Program::new(|g, p| {
            let [a, b] = names.map(|name| p.at(name).key(g.key(0)).to_tensor());
            (a ^ b).to(F32)
        });
        let constants = step.module.ops.values().filter_map(|op| match &op.kind {
            OpKind::Constant(dense) => Some(format!("{dense:?}")),
            _ => None,
        });
        constants.collect::<std::collections::BTreeSet<_>>()
    };
    assert_ne!(shown(["a", "a"]), shown(["a", "b"]));
}

#[test]
fn dropout_differs_between_microbatches() {
    let step = Program::new(|g, p| {
        let (x, key) = (g.parameter("x", [4, 8], F32), g.key(0));
        let (loss, _) = optim::accumulated(p, 2, &x, |p, x| {
            let x = x * p.parameter("w", [8], Init::ones());
            Dropout::new(0.5).apply(Some(p.key(key)), x).sum(..)
        });
        loss
    });
    assert_eq!(step.drawn().last(), Some(&(1, 1)));
    assert!(step.drawn().iter().all(|(loops, numbers)| loops == numbers));
}

#[test]
fn dropout_of_models_differs_between_layers_and_microbatches() {
    let lora = Lora::new(2, 4.0).dropout(0.5);
    let step = Program::new(|g, p| {
        let (x, p) = (g.parameter("x", [4, 8], F32), p.with_lora(&lora, Some(g.key(0))));
        optim::accumulated(&p, 2, &x, |p, x| Dense::new(8).use_bias(false).apply(&p.at("map"), x).sum(..)).0
    });
    let mut in_parts = step.drawn();
    in_parts.retain(|&(loops, _)| loops > 0);
    assert!(!in_parts.is_empty() && in_parts.iter().all(|&drawn| drawn == (1, 1)), "{in_parts:?}");
    let model = Decoder::gpt2(16, 8, 8, 2, 2).dropout(0.5);
    let step = Program::new(|g, p| {
        let (x, key) = (g.parameter("x", [4, 8], I32), g.key(0));
        optim::accumulated(p, 2, &x, |p, x| model.apply(p, x, Some(key)).sum(..)).0
    });
    let in_layers: Vec<_> = step.drawn().into_iter().filter(|&drawn| drawn == (2, 2)).collect();
    assert!(in_layers.len() >= 2, "{:?}", step.drawn());
}
