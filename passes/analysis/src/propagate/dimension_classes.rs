//! Equivalence classes of dimensions: two dimensions are equivalent if factors of operations relate them, directly or transitively.
//!
//! For example, the batch is one class, and the features between two layers are another. If one dimension is sharded, the same sharding
//! is likely for the other dimensions of its class. Classes depend neither on axes nor on visiting order, so they show before propagation
//! which annotations compete.

use shardc_ir::{FuncId, Module, OpId, SecondaryMap, ValueId};

use super::flow::Parents;
use super::graph::{Graph, NONE};
use crate::rules::RuleOptions;

/// The classes of a function's dimensions.
pub struct DimensionClasses {
    graph: Graph,
    /// For each slot (a group of values that share a sharding), the index in `leader` of its first dimension.
    first: Vec<u32>,
    /// For each dimension of each slot, the index of a representative dimension of its class (union-find).
    leader: Vec<u32>,
}

impl DimensionClasses {
    /// Returns the classes of a function without calls, by union-find; `None` if it has no body.
    #[must_use]
    pub fn of_func(module: &Module, func: FuncId) -> Option<DimensionClasses> {
        let body = module.funcs[func].body?;
        let graph = Graph::of_func(module, func, body, &Parents::new(module, body), RuleOptions::default());
        let mut first = Vec::with_capacity(graph.values.len());
        let mut dims = 0;
        for &value in &graph.values {
            first.push(dims);
            dims += value.map_or(0, |value| module.rank(value)) as u32;
        }
        let mut classes = DimensionClasses { graph, first, leader: (0..dims).collect() };
        let shared = constants(module, &module.walk(body));
        classes.join_factors(&shared);
        for dim in 0..dims {
            classes.leader[dim as usize] = find(&mut classes.leader, dim);
        }
        Some(classes)
    }

    /// Merges the classes of dimensions that have the same factor. Only the most major factor of a dimension counts, since it is the first
    /// to be sharded. Constants are skipped, since their users may have nothing else in common.
    fn join_factors(&mut self, shared: &SecondaryMap<ValueId, bool>) {
        let mut of_factor: Vec<u32> = Vec::new();
        for node in &self.graph.nodes {
            let rule = &self.graph.rules[node.rule as usize].rule;
            of_factor.clear();
            of_factor.resize(rule.factors.len(), NONE);
            for (mapping, &slot) in rule.tensors().zip(self.graph.tensors_of(node)) {
                let value = self.graph.values.get(slot as usize).copied().flatten();
                if value.is_none_or(|value| shared[value]) {
                    continue;
                }
                for (dim, factors) in mapping.dims.iter().enumerate() {
                    // A `reshape` of `[b * s, d]` to `[b, s, d]` joins the first dimension with "b" alone. If it also joined that dimension
                    // with "s", batch and sequence would be one class.
                    let Some(&factor) = factors.first() else { continue };
                    let at = self.first[slot as usize] + dim as u32;
                    match &mut of_factor[usize::from(factor)] {
                        known if *known == NONE => *known = at,
                        &mut known => join(&mut self.leader, known, at),
                    }
                }
            }
        }
    }

    /// Returns a number that is greater than the index of every class.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.leader.len()
    }

    /// Returns the class of each dimension of a value; empty if the value is not in the propagation graph.
    #[must_use]
    pub fn of(&self, value: ValueId) -> &[u32] {
        self.graph.slot(value).map_or(&[], |slot| self.of_slot(slot as usize))
    }

    /// Returns the classes of the dimensions of each value, once for values that share a sharding.
    pub fn of_values(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.first.len()).map(|slot| self.of_slot(slot))
    }

    fn of_slot(&self, slot: usize) -> &[u32] {
        let end = self.first.get(slot + 1).map_or(self.leader.len(), |&end| end as usize);
        &self.leader[self.first[slot] as usize..end]
    }
}

/// Returns the values that depend on no argument.
fn constants(module: &Module, ops: &[OpId]) -> SecondaryMap<ValueId, bool> {
    let mut constant: SecondaryMap<ValueId, bool> = SecondaryMap::new();
    for &op in ops {
        let data = &module.ops[op];
        if data.regions.is_empty() && data.operands.iter().all(|&v| constant[v]) {
            for &result in &data.results {
                constant[result] = true;
            }
        }
    }
    constant
}

/// Returns the representative of a dimension, with path halving.
fn find(leader: &mut [u32], mut dim: u32) -> u32 {
    while leader[dim as usize] != dim {
        let above = leader[leader[dim as usize] as usize];
        leader[dim as usize] = above;
        dim = above;
    }
    dim
}

/// Joins two classes. The smaller index is the representative, so the order of joins does not matter.
fn join(leader: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(leader, a), find(leader, b));
    leader[a.max(b) as usize] = a.min(b);
}
