//! Propagation within one operation, along its factors.
//!
//! *Basic* propagates an axis along a factor only if no tensor of the operation conflicts. *Aggressive* propagates to each tensor the
//! axes that it can take. If two factors compete for an axis on a tensor, the factor whose axes come from the largest tensor takes
//! precedence. Both are Shardy's strategies, including tie-breaking: its conformance tests compare the result axis by axis.

pub(super) use shardc_ir::PropagationDirection as Direction;
use shardc_ir::{AxisRef, Mesh};
use smallvec::SmallVec;

use super::projection::{FactorSharding, Projection, TensorFactors};
use crate::rules::sharding_rule::Factor;
use crate::sharding::sub_axes::{
    Axes, Prefix, contains, gcd, is_prefix, part, pre, prefix_of, prefix_without_all,
};

/// How propagation handles conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropagationStrategy {
    /// Propagates an axis only if no tensor conflicts.
    Basic,
    /// Propagates an axis to each tensor that can take it.
    Aggressive,
}

/// The factors of an operation's rule, and the directions in which they may propagate.
pub(super) struct Context<'a> {
    pub(super) mesh: &'a Mesh,
    pub(super) factors: &'a [Factor],
    /// Returns the directions in which the factor with this index may propagate.
    pub(super) direction: &'a dyn Fn(usize) -> Direction,
    pub(super) elementwise: bool,
    /// Whether sub-axes are never propagated (Shardy's conservative propagation).
    pub(super) conservative: bool,
}

impl Context<'_> {
    /// Propagates axes along factors. Returns for each tensor of the operation whether its sharding changed.
    pub(super) fn propagate(
        &self,
        strategy: PropagationStrategy,
        projection: &mut Projection,
    ) -> SmallVec<[bool; 8]> {
        match strategy {
            PropagationStrategy::Basic => self.basic(projection),
            PropagationStrategy::Aggressive => self.aggressive(projection),
        }
    }

    fn basic(&self, projection: &mut Projection) -> SmallVec<[bool; 8]> {
        let mut changed = SmallVec::from_elem(false, projection.tensors.len());
        for f in 0..self.factors.len() {
            // Either all tensors get an axis or none does, so the result does not depend on the order of tensors.
            let mut axes = compatible_axes(projection, f, (self.direction)(f));
            self.truncate(&mut axes, |axis, before| {
                projection.tensors.iter().try_fold(axis, |axis, tensor| {
                    let axis = free_of_other_factors(axis, tensor, f)?;
                    match &tensor.factors[f] {
                        Some(sharding) => self.fitting(axis, tensor, sharding, before, self.factors[f].size),
                        None => Some(axis),
                    }
                })
            });
            for (tensor, changed) in projection.tensors.iter_mut().zip(&mut changed) {
                *changed |= tensor.expand(f, &axes);
            }
        }
        changed
    }

    fn aggressive(&self, projection: &mut Projection) -> SmallVec<[bool; 8]> {
        let mut changed: SmallVec<[bool; 8]> = SmallVec::from_elem(false, projection.tensors.len());
        // The axes of all factors are computed first, since the order of the factors depends on them.
        let wanted: SmallVec<[Axes; 6]> =
            (0..self.factors.len()).map(|f| compatible_axes(projection, f, (self.direction)(f))).collect();
        if wanted.iter().all(|axes| axes.is_empty()) {
            return changed;
        }
        // Two factors may compete for one axis: in `[i,k] x [k,j]` with `i` and `j` both sharded along "x", the result can use "x" only
        // once. The factor that is first in the order gets it.
        let order = self.order(projection, &wanted);
        let operands = projection.num_operands;
        // Results are updated first, since the operands of an element-wise operation depend on the new shardings of results.
        let (first, rest) = projection.tensors.split_at_mut(operands);
        for (tensor, changed) in rest.iter_mut().zip(&mut changed[operands..]) {
            for &f in &order {
                let axes = self.new_axes(tensor, f, &wanted[f]);
                *changed |= !axes.is_empty() && tensor.expand(f, &axes);
            }
        }
        for (tensor, changed) in first.iter_mut().zip(&mut changed[..operands]) {
            for &f in &order {
                let mut axes = self.new_axes(tensor, f, &wanted[f]);
                if axes.is_empty() {
                    continue;
                }
                if self.elementwise {
                    // In an element-wise operation, an axis that the result cannot take would be useless on the other operands.
                    for result in rest.iter() {
                        if let Some(sharding) = &result.factors[f]
                            && prefix_of(&sharding.axes, &axes) == Prefix::Strict
                        {
                            axes = sharding.axes.clone();
                        }
                    }
                }
                *changed |= tensor.expand(f, &axes);
            }
        }
        changed
    }

    /// Returns the order of factors. Factors whose axes come from larger tensors are first; for element-wise operations, ties are broken
    /// by the number of shards; remaining ties are broken by the order of source tensors.
    fn order(&self, projection: &Projection, wanted: &[Axes]) -> SmallVec<[usize; 6]> {
        let mut source: SmallVec<[(i64, i64); 6]> = SmallVec::from_elem((-1, -1), self.factors.len());
        for (i, tensor) in projection.tensors.iter().enumerate() {
            let present = || tensor.factors.iter().enumerate().filter_map(|(f, s)| Some((f, s.as_ref()?)));
            let size = present().fold(1i64, |n, (f, _)| n.saturating_mul(self.factors[f].size));
            for (f, sharding) in present() {
                let is_source = !wanted[f].is_empty() && prefix_of(&wanted[f], &sharding.axes) != Prefix::No;
                if is_source && size > source[f].0 {
                    source[f] = (size, i as i64);
                }
            }
        }
        let mut order: SmallVec<[usize; 6]> = (0..self.factors.len()).collect();
        // The key contains the index, so the order is total and an unstable sort is deterministic.
        order.sort_unstable_by_key(|&f| {
            let shards = if self.elementwise { self.mesh.axes_size(&wanted[f]) } else { 0 };
            (-source[f].0, -shards, source[f].1, f)
        });
        order
    }

    /// Returns the part of the wanted axes of a factor that a tensor can take; empty if the tensor already has this part.
    fn new_axes(&self, tensor: &TensorFactors, f: usize, wanted: &Axes) -> Axes {
        let Some(sharding) = &tensor.factors[f] else { return Axes::new() };
        if wanted.is_empty() {
            return Axes::new();
        }
        let mut axes = wanted.clone();
        self.truncate(&mut axes, |axis, before| {
            self.fitting(axis, tensor, sharding, before, self.factors[f].size)
        });
        if prefix_of(&sharding.axes, &axes) != Prefix::Strict {
            return Axes::new();
        }
        // The rest may contain only axes that the tensor already has; `expand` then changes nothing.
        self.truncate(&mut axes, |axis, _| free_of_other_factors(axis, tensor, f));
        axes
    }

    /// Truncates a list of axes at the first axis that `keep` does not return completely. If `keep` returns a part of that axis, the part
    /// ends the list. `keep` gets the axis and the product of the sizes of the axes before it, and returns the major part to keep.
    fn truncate(&self, axes: &mut Axes, keep: impl Fn(AxisRef, i64) -> Option<AxisRef>) {
        let mut before = 1;
        for i in 0..axes.len() {
            match keep(axes[i], before).filter(|axis| !self.conservative || axis.sub.is_none()) {
                Some(axis) if axis == axes[i] => before *= self.mesh.axis_size(axis),
                Some(axis) => {
                    axes[i] = axis;
                    axes.truncate(i + 1);
                    return;
                }
                None => {
                    axes.truncate(i);
                    return;
                }
            }
        }
    }

    /// Returns the major part of `axis` that a factor of a tensor has or can take. `before` is the product of the sizes of the preceding
    /// axes.
    fn fitting(
        &self,
        axis: AxisRef,
        tensor: &TensorFactors,
        sharding: &FactorSharding,
        before: i64,
        factor_size: i64,
    ) -> Option<AxisRef> {
        let axis = prefix_without_all(axis, &tensor.replicated)?;
        let axis = prefix_without_all(axis, &tensor.unreduced)?;
        if sharding.axes.iter().any(|&own| contains(own, axis)) {
            return Some(axis);
        }
        if !sharding.closed && sharding.overflow.is_empty() {
            // The last factor of a dimension may be sharded unevenly: its padding is at the end of the dimension. Padding of any other
            // factor would be between elements.
            if sharding.minor_most {
                return Some(axis);
            }
            if before > 0 && factor_size % before == 0 {
                let size = self.mesh.axis_size(axis);
                let common = gcd(factor_size / before, size);
                if common == size {
                    return Some(axis);
                }
                if common != 1 {
                    return Some(part(axis, pre(axis), common as u32));
                }
            }
        }
        // A fully sharded factor still agrees with an axis if it has the major part of that axis.
        sharding.axes.last().copied().filter(|&last| is_prefix(last, axis))
    }
}

/// Returns the major part of `axis` that no other factor of the tensor uses.
fn free_of_other_factors(axis: AxisRef, tensor: &TensorFactors, f: usize) -> Option<AxisRef> {
    let others = tensor.factors.iter().enumerate().filter(|&(g, _)| g != f).filter_map(|(_, s)| s.as_ref());
    others.into_iter().try_fold(axis, |axis, other| {
        prefix_without_all(prefix_without_all(axis, &other.overflow)?, &other.axes)
    })
}

/// Returns the longest list of axes on which the tensors of the operation agree along a factor, without conflicts with other factors. Only
/// tensors on the source side of `direction` may extend it.
fn compatible_axes(projection: &Projection, f: usize, direction: Direction) -> Axes {
    let (first, second) = match direction {
        Direction::None => return Axes::new(),
        Direction::Forward | Direction::Both => (projection.operands(), projection.results()),
        Direction::Backward => (projection.results(), projection.operands()),
    };
    let mut axes = Axes::new();
    // `grow` becomes `false` once two tensors differ: `["x","y"]` and `["x","z"]` agree on `["x"]`, and a third tensor with `["x","w"]`
    // must not extend it.
    let mut grow = true;
    let of = |tensors: &'_ [TensorFactors], axes: &mut Axes, grow: &mut bool| {
        for sharding in tensors.iter().filter_map(|t| t.factors[f].as_ref()) {
            *grow = agree(axes, &sharding.axes, *grow);
        }
    };
    of(first, &mut axes, &mut grow);
    // Tensors on the target side may truncate the list but not extend it.
    if direction != Direction::Both {
        grow = false;
    }
    of(second, &mut axes, &mut grow);
    axes
}

/// Reduces `axes` to its common prefix with `other`, and extends it by the rest of `other` if `grow`. Returns whether the list may still
/// be extended.
fn agree(axes: &mut Axes, other: &[AxisRef], grow: bool) -> bool {
    let common = axes.len().min(other.len());
    for i in 0..common {
        let (a, b) = (axes[i], other[i]);
        if a == b {
            continue;
        }
        // A sub-axis agrees with a longer part of the same axis up to the sub-axis's end, if nothing follows the sub-axis.
        if is_prefix(b, a) {
            if i + 1 < other.len() {
                axes[i] = b;
                axes.truncate(i + 1);
                return false;
            }
        } else if is_prefix(a, b) {
            if !grow || i + 1 < axes.len() {
                axes.truncate(i + 1);
                return false;
            }
            axes[i] = b;
        } else {
            axes.truncate(i);
            return false;
        }
    }
    if grow {
        axes.extend_from_slice(&other[common..]);
    }
    grow
}
