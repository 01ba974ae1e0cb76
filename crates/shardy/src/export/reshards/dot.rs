//! The result of a matrix product that asks for the axes of the contracted dimension.

use shardc_ir::{AxisRef, InsertionPoint, MeshId, OpId, OpKind, ShardingId, ValueId};
use shardc_passes::internal::Projection;
use shardc_passes::internal::sub_axes::overlaps;
use shardc_passes::rules::sharding_rule::{FactorKind, ShardingRule};

use super::Inserter;

impl Inserter<'_> {
    /// Lets a product make its result as its operands are sharded, and reshards the result, where that is less than
    /// resharding an operand:
    ///
    /// * both operands are sharded alike along factors that they share, and along different axes elsewhere;
    /// * the result disagrees with an operand on one factor only, along which the operand is split;
    /// * the result is not larger than the operand, and asks there for the axes of the contracted dimensions.
    ///
    /// The product is split along more axes then, and the reduction is over a smaller tensor.
    pub(super) fn dot(
        &mut self,
        op: OpId,
        mesh: MeshId,
        rule: &ShardingRule,
        projection: &mut Projection,
        wanted: Option<ShardingId>,
    ) {
        let data = &self.module.ops[op];
        let (OpKind::DotGeneral(_), &[lhs, rhs], &[result], Some(wanted)) =
            (&data.kind, data.operands.as_slice(), data.results.as_slice(), wanted)
        else {
            return;
        };
        let sizes = [lhs, rhs, result].map(|v| self.elements(v));
        let Some((factor, axes)) = conflict(rule, projection, sizes) else { return };
        if let Some(sharding) = &mut projection.tensors[2].factors[factor] {
            sharding.axes = axes;
        }
        let mapping = &rule.results[0];
        let new = projection.tensors[2].sharding(&self.module.meshes[mesh], mesh, &rule.factors, mapping);
        let new = self.module.shardings.intern(new);
        self.places.set(self.module, result, new);
        let reshard = self.new_op(result, OpKind::Reshard(wanted));
        self.insertions.insert(&mut InsertionPoint::After(op, 0), reshard);
        self.replace(result, reshard);
    }

    fn elements(&self, value: ValueId) -> i64 {
        self.module.shape(value).iter().fold(1, |n, &size| n.saturating_mul(size))
    }
}

type Axes = smallvec::SmallVec<[AxisRef; 2]>;

/// The factor on which the result disagrees, and the axes that it has in the operand.
fn conflict(rule: &ShardingRule, projection: &Projection, sizes: [i64; 3]) -> Option<(usize, Axes)> {
    let [lhs_size, rhs_size, result_size] = sizes;
    let mut found: Option<(usize, Axes)> = None;
    let mut reduced: Vec<AxisRef> = Vec::new();
    let mut of_one_operand: Vec<AxisRef> = Vec::new();
    for (f, factor) in rule.factors.iter().enumerate() {
        let axes = |tensor: usize| projection.tensors[tensor].factors[f].as_ref().map(|s| &s.axes);
        let (in_operand, largest) = match (axes(0), axes(1)) {
            (Some(lhs), Some(rhs)) => {
                if lhs != rhs {
                    return None;
                }
                if factor.kind == FactorKind::Reduction {
                    reduced.extend(lhs.iter().copied());
                    continue;
                }
                (lhs, lhs_size.max(rhs_size))
            }
            (one, other) => {
                let size = if one.is_some() { lhs_size } else { rhs_size };
                let axes = one.or(other)?;
                if axes.iter().any(|&a| of_one_operand.iter().any(|&b| overlaps(a, b))) {
                    return None;
                }
                of_one_operand.extend(axes.iter().copied());
                (axes, size)
            }
        };
        if axes(2)? == in_operand {
            continue;
        }
        if in_operand.is_empty() || found.is_some() || result_size > largest {
            return None;
        }
        found = Some((f, in_operand.clone()));
    }
    let (factor, axes) = found?;
    let asked = &projection.tensors[2].factors[factor].as_ref()?.axes;
    (!asked.is_empty() && asked.as_slice() == reduced.as_slice()).then_some((factor, axes))
}
