//! Finds for each factor of an operation the axes that shard the factor in all operands and results.
//!
//! The heuristic is Shardy's: candidates are ordered by the number of elements of the tensors that have the sharding, then by
//! factor kind (the cheapest communication first), then by the number of shards.

use shardc_ir::{AxisRef, Mesh, MeshId, Module, OpId, ValueId};
use shardc_passes::internal::sub_axes::overlaps;
use shardc_passes::internal::sub_axes::{Prefix, prefix_of, prefix_without_all, push_merged};
use shardc_passes::internal::{Projection, TensorFactors};
use shardc_passes::rules::sharding_rule::{FactorKind, ShardingRule};
use smallvec::SmallVec;

type Axes = SmallVec<[AxisRef; 2]>;

/// Finds the axes of each factor of the rule.
pub(super) fn find(
    module: &Module,
    op: OpId,
    mesh: MeshId,
    rule: &ShardingRule,
    projection: &Projection,
) -> Vec<Axes> {
    let mesh = &module.meshes[mesh];
    if let Some(axes) = agreed(rule, projection) {
        return axes;
    }
    let data = &module.ops[op];
    let elements = |&v: &ValueId| match module.stored(v) {
        Some(tensor) if tensor.is_static() => tensor.shape.iter().fold(1i64, |n, &s| n.saturating_mul(s)),
        _ => 0,
    };
    let sizes: Vec<i64> = data.operands.iter().chain(&data.results).map(elements).collect();
    let tensors: Vec<usize> =
        rule.tensors().enumerate().filter(|(_, m)| !m.dims.is_empty()).map(|(i, _)| i).collect();
    let needs_whole = rule.factors.iter().any(|f| f.kind == FactorKind::NeedReplication);
    let several = rule.tensors().any(|m| m.dims.iter().any(|dim| dim.len() > 1));
    if let (&[a, b], false, false) = (tensors.as_slice(), needs_whole, several) {
        return of_two(mesh, rule, projection, &sizes, a, b);
    }
    let mut out = Search::new(mesh, rule, projection, &sizes).run();
    if needs_whole {
        move_to_batch(mesh, rule, &mut out);
    }
    out
}

/// Sets the axes of each factor in every tensor; returns which tensors changed.
pub(super) fn update(projection: &mut Projection, axes: &[Axes]) -> Vec<bool> {
    let change = |tensor: &mut TensorFactors| {
        let mut changed = false;
        for (factor, axes) in tensor.factors.iter_mut().zip(axes) {
            let Some(factor) = factor else { continue };
            changed |= factor.axes != *axes || !factor.overflow.is_empty();
            factor.axes = axes.clone();
            factor.overflow.clear();
        }
        changed
    };
    projection.tensors.iter_mut().map(change).collect()
}

/// Returns the axes of each factor if all tensors agree on them; `None` if tensors disagree, an axis shards two factors, or a factor that
/// needs replication is sharded.
fn agreed(rule: &ShardingRule, projection: &Projection) -> Option<Vec<Axes>> {
    let mut out: Vec<Axes> = Vec::new();
    for (f, factor) in rule.factors.iter().enumerate() {
        let mut all = projection.tensors.iter().filter_map(|t| t.factors[f].as_ref());
        let axes = all.next().map_or_else(Axes::new, |s| s.axes.clone());
        if all.any(|s| s.axes != axes) || projection.tensors.iter().any(|t| has_overflow(t, f)) {
            return None;
        }
        if factor.kind == FactorKind::NeedReplication {
            if !axes.is_empty() {
                return None;
            }
        } else if axes.iter().any(|&a| out.iter().flatten().any(|&b| overlaps(a, b))) {
            return None;
        }
        out.push(axes);
    }
    Some(out)
}

fn has_overflow(tensor: &TensorFactors, f: usize) -> bool {
    tensor.factors[f].as_ref().is_some_and(|s| !s.overflow.is_empty())
}

/// For an operation of which only two tensors have shardings, returns the axes of each factor such that one tensor keeps its sharding:
/// preferably a tensor without sharded permutation factors, then the larger tensor, then the tensor with more shards.
fn of_two(
    mesh: &Mesh,
    rule: &ShardingRule,
    projection: &Projection,
    sizes: &[i64],
    a: usize,
    b: usize,
) -> Vec<Axes> {
    let rank = |i: usize| {
        let tensor = &projection.tensors[i];
        let present = || tensor.factors.iter().enumerate().filter_map(|(f, s)| Some((f, s.as_ref()?)));
        let exchanges =
            present().any(|(f, s)| rule.factors[f].kind == FactorKind::Permutation && !s.axes.is_empty());
        let shards: i64 = present().map(|(_, s)| mesh.axes_size(&s.axes)).product();
        (!exchanges, sizes.get(i).copied().unwrap_or(0), shards)
    };
    let (first, second) = if rank(a) < rank(b) { (b, a) } else { (a, b) };
    let (first, second) = (&projection.tensors[first].factors, &projection.tensors[second].factors);
    let used: Axes = first.iter().flatten().flat_map(|s| s.axes.iter().copied()).collect();
    first
        .iter()
        .zip(second)
        .map(|(first, second)| match (first, second) {
            (Some(first), _) => first.axes.clone(),
            (None, Some(second)) => {
                let mut axes = second.axes.clone();
                truncate(&mut axes, &used);
                axes
            }
            (None, None) => Axes::new(),
        })
        .collect()
}

/// Truncates a list of axes before the first axis that overlaps one of `others`. Returns whether it was truncated.
fn truncate(axes: &mut Axes, others: &[AxisRef]) -> bool {
    for i in 0..axes.len() {
        let axis = axes[i];
        if others.iter().any(|&other| overlaps(axis, other)) {
            axes.truncate(i);
            axes.extend(prefix_without_all(axis, others));
            return true;
        }
    }
    false
}

/// A factor, and axes that shard it in some tensor.
struct Candidate {
    factor: usize,
    axes: Axes,
    /// The sum of the numbers of elements of the tensors in which these axes shard the factor.
    elements: i64,
    /// The factor by which these axes increase the number of shards, relative to the axes chosen so far for the factor.
    shards: i64,
}

struct Search<'a> {
    mesh: &'a Mesh,
    rule: &'a ShardingRule,
    candidates: Vec<Candidate>,
    /// `before[f][g]`: whether factor `g` must be fully sharded before `f`, because it is a more major factor of the same dimension.
    before: Vec<Vec<bool>>,
    chosen: Vec<Axes>,
}

impl<'a> Search<'a> {
    fn new(mesh: &'a Mesh, rule: &'a ShardingRule, projection: &Projection, sizes: &[i64]) -> Self {
        let n = rule.factors.len();
        let mut candidates: Vec<Candidate> = Vec::new();
        let all = || {
            projection.tensors.iter().zip(sizes).flat_map(|(tensor, &size)| {
                let present = tensor.factors.iter().enumerate();
                present.filter_map(move |(f, s)| Some((f, s.as_ref()?.axes.clone(), size)))
            })
        };
        for (factor, axes, _) in all() {
            for len in 1..=axes.len() {
                let axes = Axes::from_slice(&axes[..len]);
                if !candidates.iter().any(|c| c.factor == factor && c.axes == axes) {
                    let shards = mesh.axes_size(&axes);
                    candidates.push(Candidate { factor, axes, elements: 0, shards });
                }
            }
        }
        for (factor, axes, size) in all() {
            for c in candidates.iter_mut().filter(|c| c.factor == factor) {
                if prefix_of(&c.axes, &axes) != Prefix::No {
                    c.elements = c.elements.saturating_add(size);
                }
            }
        }
        let mut before = vec![vec![false; n]; n];
        for dim in rule.tensors().flat_map(|m| &m.dims) {
            for pair in dim.windows(2) {
                before[usize::from(pair[1])][usize::from(pair[0])] = true;
            }
        }
        Search { mesh, rule, candidates, before, chosen: vec![Axes::new(); n] }
    }

    fn run(mut self) -> Vec<Axes> {
        while let Some(best) = self.best() {
            let Candidate { factor, axes, .. } = self.candidates.swap_remove(best);
            self.chosen[factor].clone_from(&axes);
            if self.mesh.axes_size(&axes) == self.rule.factors[factor].size {
                self.before.iter_mut().for_each(|before| before[factor] = false);
            }
            let (mesh, chosen) = (self.mesh, &self.chosen);
            self.candidates.retain_mut(|c| {
                if c.factor == factor {
                    if prefix_of(&axes, &c.axes) != Prefix::Strict {
                        return false;
                    }
                } else if truncate(&mut c.axes, &axes) && c.axes == chosen[c.factor] {
                    return false;
                }
                c.shards = mesh.axes_size(&c.axes) / mesh.axes_size(&chosen[c.factor]).max(1);
                true
            });
        }
        self.chosen
    }

    fn best(&self) -> Option<usize> {
        let precedence = |kind: FactorKind| match kind {
            FactorKind::PassThrough => 3,
            FactorKind::Reduction => 2,
            FactorKind::Permutation => 1,
            FactorKind::NeedReplication => 0,
        };
        let names = |axes: &Axes| -> Vec<(String, u32, i64)> {
            let parts = axes.iter();
            parts
                .map(|&a| {
                    (self.mesh.axis_name(a).to_owned(), a.sub.map_or(0, |s| s.pre), self.mesh.axis_size(a))
                })
                .collect()
        };
        let free = |c: &Candidate| !self.before[c.factor].iter().any(|&waits| waits);
        let rank =
            |c: &Candidate| (c.elements, precedence(self.rule.factors[c.factor].kind), c.shards, c.factor);
        let candidates = self.candidates.iter().enumerate().filter(|(_, c)| free(c));
        let best = candidates
            .max_by(|(_, a), (_, b)| rank(a).cmp(&rank(b)).then_with(|| names(&a.axes).cmp(&names(&b.axes))));
        best.map(|(i, _)| i)
    }
}

/// Removes the axes of factors that need replication. If such a factor is in every tensor, its axes move to pass-through factors (batch
/// dimensions) that are also in every tensor, if their sizes divide evenly.
fn move_to_batch(mesh: &Mesh, rule: &ShardingRule, chosen: &mut [Axes]) {
    let in_all = |f: usize| {
        let tensors = rule.tensors().filter(|m| !m.dims.is_empty());
        tensors.into_iter().all(|m| m.find(f as u16).is_some())
    };
    for from in (0..rule.factors.len()).filter(|&f| rule.factors[f].kind == FactorKind::NeedReplication) {
        let axes = std::mem::take(&mut chosen[from]);
        if !in_all(from) {
            continue;
        }
        let mut left = axes.as_slice();
        for to in
            (0..rule.factors.len()).filter(|&f| rule.factors[f].kind == FactorKind::PassThrough && in_all(f))
        {
            let (size, split) = (rule.factors[to].size, mesh.axes_size(&chosen[to]));
            if size == 0 || split == 0 || size % split != 0 {
                continue;
            }
            let mut capacity = size / split;
            while let [axis, rest @ ..] = left
                && capacity % mesh.axis_size(*axis) == 0
            {
                push_merged(mesh, &mut chosen[to], *axis);
                capacity /= mesh.axis_size(*axis);
                left = rest;
            }
        }
    }
}
