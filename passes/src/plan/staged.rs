//! Operations that are done in several steps, each an operation on global values that is planned like others.
//!
//! They are taken apart only where a dimension is split that the operation cannot be done in parts along:
//!
//! * `two_stage_reduce`: what no collective combines (the largest element and its position, `top_k`, exclusive or) reduces
//!   each block, and the few results, gathered, once more;
//! * `cumulative`: a cumulative sum runs over each block and adds the totals of the blocks before;
//! * `uneven_reshape`: a reshape between dimensions that the axes do not divide goes by way of equal blocks, of which the
//!   borders move as those of windows do.

use rustc_hash::FxHashSet;
use shardc_ir::{
    Build, Builder, DType, DimSharding, MeshId, Module, OpId, OpKind, RegionId, TensorSharding, ValueId,
};

use crate::analysis::regions::program_regions;

/// Takes apart what needs it in the program under `body`, whose values have closed shardings. Returns the reshards between
/// the steps.
pub(super) fn split_into_steps(module: &mut Module, body: RegionId, mesh: MeshId) -> FxHashSet<OpId> {
    let mut reshards = FxHashSet::default();
    for region in program_regions(module, body) {
        let is_candidate = |&op: &OpId| {
            matches!(
                module.ops[op].kind,
                OpKind::Reduce { .. } | OpKind::ReduceWindow(_) | OpKind::TopK { .. } | OpKind::Reshape
            )
        };
        if !module.regions[region].ops.iter().any(is_candidate) {
            continue;
        }
        let ops = std::mem::take(&mut module.regions[region].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            let mut steps =
                Steps { module, mesh, at: op, out: &mut out, after: None, reshards: &mut reshards };
            // Where it returns nothing there is nothing to take apart.
            let _ = match &steps.module.ops[op].kind {
                OpKind::Reduce { dims } => {
                    let dims = dims.clone();
                    steps.reduce(&dims)
                }
                OpKind::TopK { k, stable } => {
                    let (k, stable) = (*k, *stable);
                    steps.top_k(k, stable)
                }
                OpKind::ReduceWindow(_) => steps.running(),
                OpKind::Reshape => steps.reshape(),
                _ => None,
            };
            let after = steps.after;
            out.push(op);
            out.extend(after);
        }
        module.regions[region].ops = out;
    }
    reshards
}

/// Puts operations in front of one, all from its place.
pub(super) struct Steps<'m> {
    pub(super) module: &'m mut Module,
    pub(super) mesh: MeshId,
    pub(super) at: OpId,
    pub(super) out: &'m mut Vec<OpId>,
    /// What comes behind it.
    pub(super) after: Option<OpId>,
    reshards: &'m mut FxHashSet<OpId>,
}

impl Steps<'_> {
    pub(super) fn emit(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        shape: &[i64],
        dtype: DType,
        dims: &[DimSharding],
    ) -> ValueId {
        let ty = self.module.types.tensor(shape, dtype);
        let mut builder = Builder::new(self.module);
        builder.from_op(self.at);
        let value = builder.op1(kind, operands, ty);
        self.out.extend(builder.take());
        self.place(value, dims);
        value
    }

    pub(super) fn place(&mut self, value: ValueId, dims: &[DimSharding]) {
        let sharding = TensorSharding::from_dims(self.mesh, dims.iter().cloned());
        let id = self.module.shardings.intern(sharding);
        self.module.shardings.set(value, Some(id));
    }

    pub(super) fn splat(&mut self, bytes: &[u8], dtype: DType) -> ValueId {
        let mut builder = Builder::new(self.module);
        builder.from_op(self.at);
        let value = builder.splat(bytes, &[], dtype);
        self.out.extend(builder.take());
        self.place(value, &[]);
        value
    }

    /// `value` in another sharding.
    pub(super) fn reshard(&mut self, value: ValueId, dims: &[DimSharding]) -> ValueId {
        let sharding = TensorSharding::from_dims(self.mesh, dims.iter().cloned());
        let id = self.module.shardings.intern(sharding);
        let (shape, dtype) = match self.module.tensor(value) {
            Some(ty) => (ty.shape.clone(), ty.dtype),
            None => return value,
        };
        let value = self.emit(OpKind::Reshard(id), &[value], &shape, dtype, dims);
        self.reshards.extend(self.module.def_op(value));
        value
    }

    /// The blocks that dimensions of a value are split into.
    pub(super) fn split_dims(
        &self,
        value: ValueId,
        dims: impl IntoIterator<Item = usize>,
    ) -> Option<Vec<(usize, i64)>> {
        let sharding = self.module.shardings.sharding_of(value)?;
        let mesh = &self.module.meshes[self.mesh];
        Some(dims.into_iter().map(|d| (d, sharding.shards(mesh, d))).filter(|&(_, k)| k > 1).collect())
    }
}
