//! Mixed precision: computes matmuls in a narrower type than the other operations of the step (`mixed_precision`, `compute_dtype`).
//!
//! Matmuls and convolutions of activations have operands and results of the narrow type, as under `torch.autocast`. Sums,
//! normalizations, the loss, parameters and their updates stay in `f32`. Weights are cast before their all-gather, so that the narrow
//! values are sent. Weight gradients are summed over devices in the narrow type. If the settings request sums in `f32`, the matmuls of
//! weight gradients return `f32`.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::regions::has_program_regions;
use shardc_ir::{DType, Module, OpId, OpKind, RegionId, Rewriter, TensorBuild, ValueId};

use super::context::Context;
use crate::stacked::Stacked;

/// Computes matmuls in the compute type of the settings.
pub(super) fn apply(module: &mut Module, context: &mut Context<'_>) {
    let settings = context.settings;
    if let Some(dtype) = settings.compute_dtype.filter(|&dtype| dtype != DType::F32)
        && let Some(dimensions) = context.dimensions(module)
    {
        let has_batch = |value: ValueId| dimensions.has_batch(value);
        let stacked = context.stacked(module);
        narrow(module, context.body, stacked, &has_batch, dtype, settings.fp32_reduce_scatter);
        context.invalidate_dimensions();
    }
}

/// Computes in `dtype` the matmuls that have an operand with a batch dimension (`has_batch`), in a body without calls.
fn narrow(
    module: &mut Module,
    body: RegionId,
    stacked: &Stacked,
    has_batch: &dyn Fn(ValueId) -> bool,
    dtype: DType,
    sums_wide: bool,
) {
    let mut products = FxHashSet::default();
    let mut wide = FxHashSet::default();
    for op in module.walk(body) {
        let data = &module.ops[op];
        let is_product = match &data.kind {
            OpKind::DotGeneral(spec) => spec.algorithm.is_none(),
            OpKind::Convolution(_) => true,
            _ => false,
        };
        let is_f32 = |&v: &ValueId| module.stored(v).is_some_and(|ty| ty.dtype == DType::F32);
        let mut all = data.operands.iter().chain(&data.results);
        if is_product && all.clone().all(is_f32) && all.any(|&v| has_batch(v)) {
            products.insert(op);
            wide.extend(Some(op).filter(|_| sums_wide && !has_batch(data.results[0])));
        }
    }
    let mut walk =
        Walk { products, wide, stacked, dtype, narrow: FxHashMap::default(), made: FxHashMap::default() };
    let mut rw = Rewriter::new(module);
    walk.region(&mut rw, body);
}

struct Walk<'a> {
    products: FxHashSet<OpId>,
    /// Matmuls that return `f32`: those of weight gradients, if the settings request sums in `f32`.
    wide: FxHashSet<OpId>,
    stacked: &'a Stacked,
    dtype: DType,
    /// Values converted to the narrow type, keyed by the region of the user and the original value.
    narrow: FxHashMap<(RegionId, ValueId), ValueId>,
    /// Values that are converted back to the wide type, each with the matmul that produced it.
    made: FxHashMap<ValueId, ValueId>,
}

impl Walk<'_> {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            if has_program_regions(&rw.module.ops[op].kind) {
                for inner in rw.module.ops[op].regions.clone() {
                    self.region(rw, inner);
                }
            }
            if !self.products.contains(&op) {
                continue;
            }
            let data = &rw.module.ops[op];
            let (kind, operands, result) = (data.kind.clone(), data.operands.to_vec(), data.results[0]);
            let operands: Vec<ValueId> =
                operands.into_iter().map(|value| self.narrowed(rw, region, value)).collect();
            let shape = rw.module.shape(result).to_vec();
            if self.wide.contains(&op) {
                let new = rw.tensor(kind, &operands, &shape, DType::F32);
                rw.replace(&[new]);
                continue;
            }
            let new = rw.tensor(kind, &operands, &shape, self.dtype);
            let widened = rw.convert(new, DType::F32);
            self.made.insert(widened, new);
            rw.replace(&[widened]);
        }
    }

    /// Returns a value converted to the narrow type. Weights are converted before reshapes and transposes; rows of a stack are converted
    /// in the loop that reads them.
    fn narrowed(&mut self, rw: &mut Rewriter<'_>, region: RegionId, value: ValueId) -> ValueId {
        if let Some(&narrow) = self.made.get(&value).or_else(|| self.narrow.get(&(region, value))) {
            return narrow;
        }
        let narrow = match self.reformed(rw.module, value) {
            Some((op, from)) => {
                let from = self.narrowed(rw, region, from);
                let kind = rw.module.ops[op].kind.clone();
                let shape = rw.module.shape(value).to_vec();
                rw.tensor(kind, &[from], &shape, self.dtype)
            }
            None => rw.convert(value, self.dtype),
        };
        self.narrow.insert((region, value), narrow);
        narrow
    }

    /// If a value is a reshaped or transposed weight or row of stacked weights, returns the operation and its operand.
    fn reformed(&self, module: &Module, value: ValueId) -> Option<(OpId, ValueId)> {
        let is_reform = |op: OpId| {
            matches!(
                module.ops[op].kind,
                OpKind::Transpose { .. } | OpKind::Reshape | OpKind::BroadcastInDim { .. }
            )
        };
        let made = module.def_op(value).filter(|&op| is_reform(op))?;
        let mut from = module.ops[made].operands[0];
        let first = from;
        while let Some(op) = module.def_op(from).filter(|&op| is_reform(op)) {
            from = module.ops[op].operands[0];
        }
        let is_row = module.def_op(from).is_some_and(|op| {
            matches!(module.ops[op].kind, OpKind::DynamicSlice { .. })
                && self.stacked.origin(module.ops[op].operands[0]).is_some()
        });
        (is_row || self.stacked.origin(from).is_some()).then_some((made, first))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ONE_WEIGHT, around};

    #[test]
    fn matmuls_of_activations_are_narrowed() {
        let around = around("compute-dtype", ONE_WEIGHT, ("full_shard bf16", "fsdp=4"), &[]);
        assert_eq!(around.added("-> tensor<8x8xbf16>"), 2, "the matmul, and the cast of its cotangent");
        assert_eq!(around.added("tensor<8x16xbf16>, tensor<16x8xbf16>"), 1);
    }

    #[test]
    fn nothing_is_narrowed_without_a_compute_type() {
        assert!(around("compute-dtype", ONE_WEIGHT, ("full_shard", "fsdp=4"), &[]).is_same());
    }
}
