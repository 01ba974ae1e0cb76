//! Matmuls whose result is resharded to the axes of the contracting dimension.
//!
//! ```mlir
//! // %a: [{}, {"x"}], %b: [{"x"}, {"y"}]
//! %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>}
//! // becomes
//! %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>}
//! %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]>
//! ```

use shardc_ir::{AxisRef, InsertionPoint, MeshId, OpId, OpKind, ShardingId, ValueId};
use shardc_passes::internal::Projection;
use shardc_passes::internal::sub_axes::overlaps;
use shardc_passes::rules::sharding_rule::{FactorKind, ShardingRule};

use super::Inserter;

impl Inserter<'_> {
    /// Computes a matmul with the shardings of its operands, and reshards the result, if this costs less than resharding an
    /// operand:
    ///
    /// * the operands have equal shardings on common factors, and do not share axes on other factors;
    /// * the result conflicts with an operand on only one factor, and the operand is sharded along that factor;
    /// * the result is not larger than the operand, and is sharded along that factor by the axes of the contracting dimensions.
    ///
    /// The matmul is then sharded along more axes, and the all-reduce is of a smaller tensor.
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

/// The factor with the conflict, and its axes in the operand.
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
