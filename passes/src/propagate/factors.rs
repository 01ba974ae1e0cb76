//! Propagation within one operation, factor by factor.
//!
//! *Basic*: an axis is carried along a factor only where no tensor of the operation objects. *Aggressive*: each
//! tensor takes what it can; where two factors want one axis on a tensor, the factor whose axes come from the
//! largest tensor goes first. Both are Shardy's, down to the order in which ties are broken: its conformance tests
//! compare the result axis by axis.

pub(super) use shardc_ir::PropagationDirection as Direction;
use shardc_ir::{AxisRef, Mesh};
use smallvec::SmallVec;

use super::projection::{FactorSharding, Projection, TensorFactors};
use crate::rules::sharding_rule::Factor;
use crate::sharding::sub_axes::{
    Axes, Prefix, contains, gcd, is_prefix, part, pre, prefix_of, prefix_without_all,
};

/// How conflicts are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropagationStrategy {
    /// Carry an axis only where nothing objects.
    Basic,
    /// Carry it wherever it fits.
    Aggressive,
}

/// An operation as factor propagation sees it: the factors of its rule, and which way each may carry axes.
pub(super) struct Context<'a> {
    pub(super) mesh: &'a Mesh,
    pub(super) factors: &'a [Factor],
    /// Which way each factor propagates.
    pub(super) direction: &'a dyn Fn(usize) -> Direction,
    pub(super) elementwise: bool,
    /// Whether parts of axes stay where they are (Shardy's conservative propagation): a sub-axis is never carried.
    pub(super) conservative: bool,
}

impl Context<'_> {
    /// Carries axes along factors. Returns for each tensor whether it changed.
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
            // All tensors must be able to take an axis, or none gets it: so the result does not depend on the order of tensors.
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
        // All factors at once, since the order in which they are tried compares them.
        let wanted: SmallVec<[Axes; 6]> =
            (0..self.factors.len()).map(|f| compatible_axes(projection, f, (self.direction)(f))).collect();
        if wanted.iter().all(|axes| axes.is_empty()) {
            return changed;
        }
        // One axis may be wanted by two factors: in `[i,k] x [k,j]` with `i` and `j` both on "x" the result can have
        // it once. Whoever is earlier in this order gets it.
        let order = self.order(projection, &wanted);
        let operands = projection.num_operands;
        // Results first: operands of an elementwise operation ask them for what they got.
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
                    // What the result cannot have is of no use to the other operands.
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

    /// Factors whose axes come from larger tensors first; for elementwise operations then those with more
    /// shards; then those that come from earlier tensors.
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
        // The index is part of the key, so that the order is total and an unstable sort is deterministic.
        order.sort_unstable_by_key(|&f| {
            let shards = if self.elementwise { self.mesh.axes_size(&wanted[f]) } else { 0 };
            (-source[f].0, -shards, source[f].1, f)
        });
        order
    }

    /// Returns what a tensor can take of the wanted axes of a factor; empty where that is nothing new.
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
        // What is left may be what the tensor has already, which `expand` finds out.
        self.truncate(&mut axes, |axis, _| free_of_other_factors(axis, tensor, f));
        axes
    }

    /// Cuts a list at the first axis of which `keep` does not keep all. `keep` gets the axis and the product of
    /// the sizes of those before it, and gives the part that stays.
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

    /// Returns the major part of `axis` that a factor of a tensor has or can take, where axes with product `before` come
    /// before it.
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
            // The last factor of a dimension may be split unevenly: padding goes to the end of the dimension. Padding of any
            // other factor would lie between its elements.
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
        // A factor that can take no more still agrees with an axis of which it has the major part.
        sharding.axes.last().copied().filter(|&last| is_prefix(last, axis))
    }
}

/// Returns the major part of `axis` that no other factor of the tensor has.
fn free_of_other_factors(axis: AxisRef, tensor: &TensorFactors, f: usize) -> Option<AxisRef> {
    let others = tensor.factors.iter().enumerate().filter(|&(g, _)| g != f).filter_map(|(_, s)| s.as_ref());
    others.into_iter().try_fold(axis, |axis, other| {
        prefix_without_all(prefix_without_all(axis, &other.overflow)?, &other.axes)
    })
}

/// Returns the longest list that the tensors of the operation agree on along a factor, conflicts with other factors not
/// counted. Only tensors on the side that shardings come from may make it longer.
fn compatible_axes(projection: &Projection, f: usize, direction: Direction) -> Axes {
    let (first, second) = match direction {
        Direction::None => return Axes::new(),
        Direction::Forward | Direction::Both => (projection.operands(), projection.results()),
        Direction::Backward => (projection.results(), projection.operands()),
    };
    let mut axes = Axes::new();
    // `false` once two tensors differ: after `["x","y"]` and `["x","z"]` the list is `["x"]`, and a third tensor with
    // `["x","w"]` must not make it longer again.
    let mut grow = true;
    let of = |tensors: &'_ [TensorFactors], axes: &mut Axes, grow: &mut bool| {
        for sharding in tensors.iter().filter_map(|t| t.factors[f].as_ref()) {
            *grow = agree(axes, &sharding.axes, *grow);
        }
    };
    of(first, &mut axes, &mut grow);
    // The side that shardings go to has a veto, but no wishes.
    if direction != Direction::Both {
        grow = false;
    }
    of(second, &mut axes, &mut grow);
    axes
}

/// Makes `axes` what it has in common with `other`, longer by what `other` has more if `grow`. Returns whether
/// the list may grow further.
fn agree(axes: &mut Axes, other: &[AxisRef], grow: bool) -> bool {
    let common = axes.len().min(other.len());
    for i in 0..common {
        let (a, b) = (axes[i], other[i]);
        if a == b {
            continue;
        }
        // A sub-axis agrees with a longer part of its axis as far as it goes, as long as nothing comes after it.
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
