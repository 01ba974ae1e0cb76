//! Finds arguments that are stacks of layers: loops read one row at a time.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::analysis::carried::arguments_in_loops;
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{Module, OpKind, RegionId, ValueId};

/// The dimensions of arguments that should not be sharded, because loops read one row of them at a time.
///
/// A stack of layers has a layer dimension, and each loop iteration takes one row of the stack. If the layer dimension were sharded,
/// the data that all devices need in an iteration would be on one device.
pub(crate) struct Stacked {
    dims: FxHashMap<ValueId, Vec<bool>>,
    origin: FxHashMap<ValueId, ValueId>,
}

impl Stacked {
    /// Finds the stacks among the arguments of a body without calls.
    pub(crate) fn of(module: &Module, body: RegionId) -> Self {
        let hands_on = |kind: &OpKind| matches!(kind, OpKind::Convert | OpKind::OptimizationBarrier);
        let origin = arguments_in_loops(module, body, hands_on);
        let args = &module.regions[body].args;
        let mut dims: FxHashMap<ValueId, Vec<bool>> =
            args.iter().map(|&arg| (arg, vec![false; module.rank(arg)])).collect();
        for op in module.walk(body) {
            let data = &module.ops[op];
            let OpKind::DynamicSlice { sizes } = &data.kind else { continue };
            let Some(arg) = data.operands.first().and_then(|v| origin.get(v)) else { continue };
            if let Some(stacked) = dims.get_mut(arg) {
                let whole = module.shape(*arg);
                for ((stacked, size), n) in stacked.iter_mut().zip(sizes).zip(whole) {
                    *stacked |= size < n;
                }
            }
        }
        Stacked { dims, origin }
    }

    /// Returns whether loops read rows of an argument.
    pub(crate) fn has_rows(&self, arg: ValueId) -> bool {
        self.dims.get(&arg).is_some_and(|dims| dims.contains(&true))
    }

    /// Returns the argument that a value is equal to, directly or as a loop-carried value, apart from casts and barriers.
    pub(crate) fn origin(&self, value: ValueId) -> Option<ValueId> {
        self.origin.get(&value).copied()
    }

    /// Returns whether loops read rows along a dimension of an argument.
    pub(crate) fn is_stacked(&self, arg: ValueId, dim: usize) -> bool {
        self.dims.get(&arg).and_then(|dims| dims.get(dim)).copied().unwrap_or(false)
    }
    /// Returns the dimension classes of the layer dimensions, along which loops read rows.
    pub(crate) fn classes(&self, classes: &DimensionClasses) -> FxHashSet<u32> {
        let of_arg = |(&arg, dims): (&ValueId, &Vec<bool>)| {
            let of = classes.of(arg).iter().zip(dims);
            of.filter(|(_, is_stacked)| **is_stacked).map(|(&class, _)| class).collect::<Vec<_>>()
        };
        self.dims.iter().flat_map(of_arg).collect()
    }
}
