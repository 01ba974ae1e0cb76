//! Projection of tensor shardings to factor shardings, and back.
//!
//! The axes of a dimension with factors `[f, g]` are assigned to `f` until `f` is fully sharded, then to `g`; an axis may be split into
//! sub-axes. Axes that cannot be assigned to a factor, because sizes do not divide, are *overflow axes*: they stay on the dimension and
//! block its later factors.

use shardc_ir::{AxisList, AxisRef, DimSharding, Mesh, MeshId, ReductionKind, TensorSharding};
use smallvec::SmallVec;

use crate::rules::sharding_rule::{Factor, ShardingRule, TensorMapping};
use crate::sharding::sub_axes::{Axes, Prefix, gcd, part, pre, prefix_of, push_merged};

/// The sharding of one tensor along one factor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactorSharding {
    /// The axes that shard the factor, major to minor.
    pub axes: Axes,
    /// The axes of the dimension that cannot be assigned to a factor.
    pub overflow: Axes,
    /// Whether the dimension of the factor is closed.
    pub closed: bool,
    /// Whether this is the last factor of its dimension.
    pub minor_most: bool,
}

/// The projection of one tensor's sharding.
#[derive(Clone, Debug, Default)]
pub struct TensorFactors {
    /// One entry per factor of the rule; `None` if the tensor does not have the factor.
    pub factors: SmallVec<[Option<FactorSharding>; 6]>,
    /// Explicitly replicated axes.
    pub replicated: AxisList,
    /// Axes along which the tensor is unreduced.
    pub unreduced: AxisList,
    /// The reduction along the unreduced axes.
    pub reduction: ReductionKind,
}

/// The projections of all operands and results of an operation.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// The projected shardings of the operands, then of the results.
    pub tensors: SmallVec<[TensorFactors; 4]>,
    /// The number of operands; results follow them.
    pub num_operands: usize,
}

impl Projection {
    /// Projects shardings (operands, then results; `None` is open) onto the factors of a rule.
    pub fn new<'a>(
        mesh: &Mesh,
        rule: &ShardingRule,
        shardings: impl Iterator<Item = Option<&'a TensorSharding>>,
    ) -> Self {
        let tensors = rule
            .tensors()
            .zip(shardings)
            .map(|(mapping, sharding)| TensorFactors::new(mesh, &rule.factors, mapping, sharding))
            .collect();
        Projection { tensors, num_operands: rule.operands.len() }
    }

    /// Returns the projected shardings of the operands.
    pub fn operands(&self) -> &[TensorFactors] {
        &self.tensors[..self.num_operands]
    }

    /// Returns the projected shardings of the results.
    pub fn results(&self) -> &[TensorFactors] {
        &self.tensors[self.num_operands..]
    }
}

/// The axes of a dimension that are not yet assigned to factors. Part of the first axis may already be assigned.
struct Rest<'a> {
    mesh: &'a Mesh,
    axes: &'a [AxisRef],
    /// The remaining part of the first axis: its pre-size (if it is a sub-axis) and its size.
    first: Option<(Option<u32>, i64)>,
}

impl<'a> Rest<'a> {
    fn new(mesh: &'a Mesh, axes: &'a [AxisRef]) -> Self {
        let first = axes.first().map(|&axis| (axis.sub.map(|_| pre(axis)), mesh.axis_size(axis)));
        Rest { mesh, axes, first }
    }

    fn next(&mut self) {
        *self = Rest::new(self.mesh, &self.axes[1..]);
    }

    /// Returns the remaining part of the first axis.
    fn current(&self) -> Option<AxisRef> {
        let (begin, size) = self.first?;
        let axis = self.axes[0];
        Some(match begin {
            Some(pre) => part(axis, pre, size as u32),
            None => AxisRef { axis: axis.axis, sub: None },
        })
    }

    fn drain_into(&mut self, out: &mut Axes) {
        while let Some(axis) = self.current() {
            push_merged(self.mesh, out, axis);
            self.next();
        }
    }
}

impl TensorFactors {
    pub(super) fn new(
        mesh: &Mesh,
        factors: &[Factor],
        mapping: &TensorMapping,
        sharding: Option<&TensorSharding>,
    ) -> Self {
        let mut out =
            TensorFactors { factors: (0..factors.len()).map(|_| None).collect(), ..Self::default() };
        for (d, dim) in mapping.dims.iter().enumerate() {
            let dim_sharding = sharding.and_then(|s| s.dims.get(d));
            let closed = dim_sharding.is_some_and(|s| !s.open);
            let mut rest = Rest::new(mesh, dim_sharding.map_or(&[], |s| s.axes.as_slice()));
            let mut overflowed = false;
            for (i, &f) in dim.iter().enumerate() {
                let f = usize::from(f);
                let mut factor =
                    FactorSharding { closed, minor_most: i + 1 == dim.len(), ..FactorSharding::default() };
                // After a factor with overflow axes, only the next factor is kept, and it is closed: new axes on it would follow the
                // overflow axes, whose shards do not align with the factor. Later factors are dropped.
                if overflowed {
                    factor.closed = true;
                    out.factors[f] = Some(factor);
                    break;
                }
                if factor.minor_most {
                    rest.drain_into(&mut factor.axes);
                    out.factors[f] = Some(factor);
                    break;
                }
                // For example, in a dimension of size 6 with factors 3 and 2, an axis of size 2 is an overflow axis, since 2 does not
                // divide the first factor. An axis of size 3 shards the first factor fully, and later axes go to the second factor.
                let left = deal(&mut rest, factors[f].size, &mut factor.axes);
                if left > 1 && rest.first.is_some() {
                    overflowed = true;
                    rest.drain_into(&mut factor.overflow);
                }
                out.factors[f] = Some(factor);
            }
        }
        if let Some(sharding) = sharding {
            out.replicated = sharding.replicated.clone();
            out.unreduced = sharding.unreduced.clone();
            out.reduction = sharding.reduction;
        }
        out
    }

    /// Returns the tensor sharding of these factor shardings: the inverse of `TensorFactors::new`.
    pub fn sharding(
        &self,
        mesh: &Mesh,
        mesh_id: MeshId,
        factors: &[Factor],
        mapping: &TensorMapping,
    ) -> TensorSharding {
        let dims = mapping.dims.iter().map(|dim| {
            // A dimension with a priority is closed and empty until the priority is due (`priority`), so the priority is no longer needed
            // when the dimension changes.
            let mut out = DimSharding { axes: AxisList::new(), open: true, priority: None };
            for &f in dim {
                // `Self::new` drops the factors that follow a factor with overflow axes.
                let Some(factor) = &self.factors[usize::from(f)] else { break };
                out.open &= !factor.closed;
                let split = append(mesh, &mut out.axes, &factor.axes);
                if !factor.overflow.is_empty() {
                    append(mesh, &mut out.axes, &factor.overflow);
                    break;
                }
                if split < factors[usize::from(f)].size {
                    // If a later factor were sharded as well, the shards would not be contiguous in the dimension.
                    break;
                }
            }
            out
        });
        TensorSharding {
            mesh: mesh_id,
            dims: dims.collect(),
            replicated: self.replicated.clone(),
            unreduced: self.unreduced.clone(),
            reduction: self.reduction,
        }
    }

    /// Extends the axes of a factor to a longer list with the same prefix. Returns whether the list changed. Axes are only ever added, so
    /// propagation terminates.
    pub fn expand(&mut self, factor: usize, axes: &[AxisRef]) -> bool {
        let Some(sharding) = &mut self.factors[factor] else { return false };
        let longer = prefix_of(&sharding.axes, axes) == Prefix::Strict;
        if longer {
            sharding.axes = Axes::from_slice(axes);
        }
        longer
    }
}

/// Assigns axes to a factor of `size` until it is fully sharded or sizes do not divide. Returns the remaining size of the factor.
fn deal(rest: &mut Rest<'_>, size: i64, out: &mut Axes) -> i64 {
    let mut left = size;
    while let Some((begin, n)) = rest.first {
        // An axis of size 1 shards nothing and can be assigned to any factor.
        let common = if n == 1 { 1 } else { gcd(left, n) };
        if n != 1 && common <= 1 {
            break;
        }
        let axis = rest.axes[0];
        // The rest of the axis goes to the next factor: an axis of size 8 on factors 2 and 4 is split into the sub-axes `(1)2` and `(2)4`.
        if n > common {
            let begin = begin.unwrap_or(1);
            out.push(part(axis, begin, common as u32));
            rest.first = Some((Some(begin * common as u32), n / common));
            left /= common;
        } else {
            out.extend(rest.current());
            left /= n;
            rest.next();
        }
    }
    left
}

/// Appends axes, and merges adjacent sub-axes where the lists meet. Returns the product of their sizes.
fn append(mesh: &Mesh, out: &mut AxisList, axes: &[AxisRef]) -> i64 {
    let mut size = 1;
    for (i, &axis) in axes.iter().enumerate() {
        size *= mesh.axis_size(axis);
        if i == 0 {
            push_merged(mesh, out, axis);
        } else {
            out.push(axis);
        }
    }
    size
}
