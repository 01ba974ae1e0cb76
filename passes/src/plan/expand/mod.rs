//! Expansion (pass `expand-sharded-ops`): decomposes operations that cannot be partitioned along a sharded dimension into several
//! operations on global values.
//!
//! Each step is planned like any other operation. An operation is only decomposed if it cannot be partitioned along one of its sharded
//! dimensions:
//!
//! * `two_stage_reduce`: reductions that no all-reduce implements (argmax, `top_k`, exclusive or) reduce each block, and then reduce the
//!   all-gathered results;
//! * `two_stage_sort`: if only the first or last `n` elements of a sort are used, each block contributes `n` candidates;
//! * `cumulative`: a prefix scan scans each block, and adds the totals of the preceding blocks;
//! * `fft`: a multi-dimensional FFT is a sequence of one-dimensional FFTs, with all-to-alls between them;
//! * `static_update`: an update at a known position becomes a pad of the update and a `select`;
//! * `uneven_reshape`: a reshape between dimensions that the axes do not divide is computed on equal blocks, and a halo exchange moves
//!   the block boundaries.

mod cumulative;
mod fft;
mod static_update;
mod two_stage_reduce;
mod two_stage_sort;
mod uneven_reshape;

use rustc_hash::FxHashSet;
use shardc_ir::{
    Build, DType, Diagnostic, DimSharding, FuncId, MeshId, Module, OpId, OpKind, RegionId, Rewriter,
    TensorSharding, ValueId,
};

use super::Planning;
use crate::analysis::regions::program_regions;
use crate::cost::{CostModel, Costs};

/// The pass `expand-sharded-ops`: decomposes operations that cannot be partitioned along a sharded dimension.
///
/// # Errors
/// Returns SH0301 or SH0391.
pub(crate) fn expand_sharded_ops(
    module: &mut Module,
    func: FuncId,
    planning: &mut Planning,
) -> Result<(), Vec<Diagnostic>> {
    let (body, mesh) = planning.place(module, func)?;
    planning.between_steps = split_into_steps(module, body, mesh, &planning.costs);
    Ok(())
}

/// Expands operations in `body` and its nested regions, in which all values have closed shardings. Returns the reshards between the steps.
fn split_into_steps(module: &mut Module, body: RegionId, mesh: MeshId, model: &CostModel) -> FxHashSet<OpId> {
    let mut reshards = FxHashSet::default();
    // Only FFTs and sorts need the uses of values, and few programs have either.
    let needs_uses = |&op: &OpId| matches!(module.ops[op].kind, OpKind::Fft { .. } | OpKind::Sort { .. });
    let uses = program_regions(module, body)
        .iter()
        .any(|&region| module.regions[region].ops.iter().any(needs_uses))
        .then(|| module.uses());
    let costs = model.on(&module.meshes[mesh]);
    let mut rw = Rewriter::new(module);
    for region in program_regions(rw.module, body) {
        let is_candidate = |&op: &OpId| {
            matches!(
                rw.module.ops[op].kind,
                OpKind::Reduce { .. }
                    | OpKind::ReduceWindow(_)
                    | OpKind::TopK { .. }
                    | OpKind::Reshape
                    | OpKind::Fft { .. }
                    | OpKind::DynamicUpdateSlice
                    | OpKind::Scatter(_)
                    | OpKind::Sort { .. }
            )
        };
        if !rw.module.regions[region].ops.iter().any(is_candidate) {
            continue;
        }
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let mut steps = Steps { rw: &mut rw, mesh, at: op, reshards: &mut reshards, costs };
            // `None` means that the operation needs no expansion.
            let _ = match &steps.rw.module.ops[op].kind {
                OpKind::Reduce { dims } => {
                    let dims = dims.clone();
                    steps.reduce(&dims)
                }
                // If `k` is zero, there is nothing to select.
                OpKind::TopK { k, stable } if *k > 0 => {
                    let (k, stable) = (*k, *stable);
                    steps.top_k(k, stable)
                }
                OpKind::ReduceWindow(_) => steps.cumulative(),
                OpKind::Reshape => steps.reshape(),
                OpKind::Fft { .. } => uses.as_ref().and_then(|uses| steps.fft(uses)),
                OpKind::DynamicUpdateSlice | OpKind::Scatter(_) => steps.static_update(),
                OpKind::Sort { dim, stable } => {
                    let (dim, stable) = (dim.unwrap_or(-1), *stable);
                    uses.as_ref().and_then(|uses| steps.sort(dim, stable, uses))
                }
                _ => None,
            };
        }
    }
    reshards
}

/// Emits the steps of an expanded operation before the operation, and for `top_k` one step after it. Each step has the source location of
/// the operation.
pub(super) struct Steps<'a, 'm> {
    pub(super) rw: &'a mut Rewriter<'m>,
    pub(super) mesh: MeshId,
    pub(super) at: OpId,
    reshards: &'a mut FxHashSet<OpId>,
    pub(super) costs: Costs,
}

impl Steps<'_, '_> {
    /// Emits an operation with one result of this shape and sharding, and returns the result.
    pub(super) fn emit(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        shape: &[i64],
        dtype: DType,
        dims: &[DimSharding],
    ) -> ValueId {
        let ty = self.rw.module.types.tensor(shape, dtype);
        let value = self.rw.op1(kind, operands, ty);
        self.place(value, dims);
        value
    }

    /// Sets the sharding of a value, on the planned mesh.
    pub(super) fn place(&mut self, value: ValueId, dims: &[DimSharding]) {
        let sharding = TensorSharding::from_dims(self.mesh, dims.iter().cloned());
        let id = self.rw.module.shardings.intern(sharding);
        self.rw.module.shardings.set(value, Some(id));
    }

    /// Emits a scalar constant of these bytes.
    pub(super) fn splat(&mut self, bytes: &[u8], dtype: DType) -> ValueId {
        let value = self.rw.splat(bytes, &[], dtype);
        self.place(value, &[]);
        value
    }

    /// Emits a reshard of `value`, and records it as a reshard between steps, so that it causes no warning.
    pub(super) fn reshard(&mut self, value: ValueId, dims: &[DimSharding]) -> ValueId {
        let sharding = TensorSharding::from_dims(self.mesh, dims.iter().cloned());
        let id = self.rw.module.shardings.intern(sharding);
        let (shape, dtype) = match self.rw.module.tensor(value) {
            Some(ty) => (ty.shape.clone(), ty.dtype),
            None => return value,
        };
        let value = self.emit(OpKind::Reshard(id), &[value], &shape, dtype, dims);
        self.reshards.extend(self.rw.module.def_op(value));
        value
    }

    /// Returns the sharded dimensions among `dims`, each with its number of blocks.
    pub(super) fn split_dims(
        &self,
        value: ValueId,
        dims: impl IntoIterator<Item = usize>,
    ) -> Option<Vec<(usize, i64)>> {
        let sharding = self.rw.module.shardings.sharding_of(value)?;
        let mesh = &self.rw.module.meshes[self.mesh];
        Some(dims.into_iter().map(|d| (d, sharding.shards(mesh, d))).filter(|&(_, k)| k > 1).collect())
    }
}
