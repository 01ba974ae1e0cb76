//! Expert parallelism: finds the expert dimensions of weights.
//!
//! A mixture of experts multiplies the inputs of each expert by that expert's weights in one batched (or grouped) matmul. One operand of
//! this matmul is a weight, which has no data-batch dimension. The batching (or group) dimension of the weight is the expert dimension.

use rustc_hash::FxHashSet;
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{Module, OpKind, RegionId, ValueId};

/// Finds the dimension classes of experts.
pub(super) fn classes(
    module: &Module,
    body: RegionId,
    classes: &DimensionClasses,
    weights: &[ValueId],
    has_batch: &dyn Fn(ValueId) -> bool,
) -> FxHashSet<u32> {
    let of_weights: FxHashSet<u32> = weights.iter().flat_map(|&weight| classes.of(weight)).copied().collect();
    let mut found = FxHashSet::default();
    let mut batching = |value: ValueId, dims: &[u32]| {
        if !has_batch(value) {
            let of_dims = dims.iter().filter_map(|&dim| classes.of(value).get(dim as usize));
            found.extend(of_dims.filter(|class| of_weights.contains(class)));
        }
    };
    for op in module.walk(body) {
        let data = &module.ops[op];
        match &data.kind {
            OpKind::DotGeneral(spec) => {
                batching(data.operands[0], &spec.lhs_batch);
                batching(data.operands[1], &spec.rhs_batch);
            }
            OpKind::RaggedDot(spec) => batching(data.operands[1], &spec.rhs_group),
            _ => {}
        }
    }
    found
}

/// Finds the expert dimension of an argument, if `n` divides it.
pub(super) fn dim(
    module: &Module,
    classes: &DimensionClasses,
    experts: &FxHashSet<u32>,
    arg: ValueId,
    n: i64,
) -> Option<usize> {
    let mut dims = classes.of(arg).iter().zip(module.shape(arg)).enumerate();
    let is_split = |(_, (class, size)): &(usize, (&u32, &i64))| experts.contains(class) && **size % n == 0;
    dims.find(is_split).map(|(dim, _)| dim)
}
