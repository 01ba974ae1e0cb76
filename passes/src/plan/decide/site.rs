//! Builds the input of the axis assignment: an operation and its tensors.

use shardc_ir::{Mesh, MeshId, Module, OpId, ReductionKind, Work};
use smallvec::SmallVec;

use super::assign::{Site, Tensor};
use super::available::AvailableCopies;
use super::loop_invariant::LoopInvariance;
use super::quantized;
use crate::cost::Costs;
use crate::plan::free_values::FreeValues;
use crate::plan::support::{self, Split};
use crate::rules::sharding_rule::{FactorIndex, ShardingRule};
use crate::sharding::axes::Parts;

/// The effect of sharding each factor of a rule.
pub(super) type Splits = SmallVec<[Split; 6]>;

/// Returns the effect of sharding each factor of an operation's rule.
pub(super) fn splits(module: &Module, op: OpId, rule: &ShardingRule) -> Splits {
    (0..rule.factors.len() as FactorIndex)
        .map(|f| quantized::restricted(module, op, rule, f, support::split(module, op, rule, f)))
        .collect()
}

/// Returns the input of the axis assignment for an operation; `None` if some operand or result has no sharding.
pub(crate) fn site<'a>(
    module: &'a Module,
    (mesh, mesh_id, costs): (&'a Mesh, MeshId, Costs),
    invariance: Option<&LoopInvariance>,
    op: OpId,
    rule: &'a ShardingRule,
    copies: &AvailableCopies,
    free: &FreeValues,
) -> Option<Site<'a>> {
    let data = &module.ops[op];
    let splits = splits(module, op, rule);
    let mut tensors: SmallVec<[Tensor<'_>; 4]> = SmallVec::new();
    let operands = data.operands.iter().zip(&rule.operands).map(|x| (x, false));
    let results = data.results.iter().zip(&rule.results).map(|x| (x, true));
    for ((&value, mapping), is_result) in operands.chain(results) {
        let (sharding, ty) = (module.shardings.sharding_of(value)?, module.stored(value)?);
        let free = !is_result && free.is_free(value);
        let also = match is_result {
            true => SmallVec::new(),
            false => copies.shardings(value).map(|id| module.shardings.get(id)).collect(),
        };
        let share = match invariance {
            Some(invariance) if is_result => invariance.share_of_sum(module, value),
            Some(invariance) => invariance.share(module, value),
            None => 1.0,
        };
        tensors.push(Tensor { mapping, sharding, also, ty, is_result, free, share, brings: false });
    }
    let is_contraction = data.kind.def().work == Work::Contraction;
    let (carried, carried_by) = (Parts::new(), ReductionKind::default());
    let kind = &data.kind;
    Some(Site { mesh, mesh_id, costs, kind, rule, splits, tensors, is_contraction, carried, carried_by })
}
