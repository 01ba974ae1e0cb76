//! Masks the padding of unevenly sharded dimensions.
//!
//! If a dimension does not divide evenly, the last blocks end in undefined elements. Before an operation that combines elements along that
//! dimension, the undefined elements are replaced by the identity of the reduction.
//!
//! **Invariant.** If a dimension of size `n` is sharded `k` ways, each device has `ceil(n / k)` elements. Elements beyond `n` have *any*
//! value, at the boundary of the program and inside it. Blocks are padded before a collective that splits them, and trimmed after a
//! collective that concatenates them (`collective`).
//!
//! ```mlir
//! %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : ...
//! ```
//! becomes
//! ```mlir
//! %inside = stablehlo.compare LT, %global_index, %size
//! %1 = stablehlo.select %inside, %x, %identity
//! %0 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : ...
//! ```

use shardc_ir::{
    AxisRef, CompareDirection, CompareType, DType, Diagnostic, EntityRef, OpId, OpKind, ReductionKind,
    ShardingId, TypeId, ValueId,
};

use super::Localizer;
use crate::analysis::reducer::{collective_reduction, identity, is_idempotent, is_identity};

impl Localizer<'_> {
    /// Replaces elements of `value` whose index along `dim` is beyond the global size by the scalar `fill`.
    pub(crate) fn mask_tail(&mut self, value: ValueId, dim: usize, fill: ValueId) -> ValueId {
        let Some(size) = self.global(value).map(|t| t.shape[dim]) else { return value };
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        let index = self.global_index(value, dim, &ty.shape);
        let size = self.i32_splat(size, &ty.shape);
        let pred_ty = self.tensor_type(&ty.shape, DType::I1);
        let compare = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
        let inside = self.emit(compare, &[index, size], pred_ty);
        let fill = self.broadcast_scalar(fill, &ty.shape, ty.dtype);
        let value_ty = self.rw.module.values[value].ty;
        self.emit(OpKind::Select, &[inside, value, fill], value_ty)
    }

    /// Emits the identity element of `kind` as a scalar; reports SH0410 if there is none.
    pub(crate) fn identity_scalar(&mut self, kind: ReductionKind, dtype: DType) -> Option<ValueId> {
        match identity(kind, dtype) {
            Some(bytes) => Some(self.splat(&bytes, &[], dtype)),
            None => {
                let name = self.rw.module.ops[self.at].kind.name().to_owned();
                self.fail(
                    Diagnostic::unsupported(
                        "SH0410",
                        format!("{name} of {dtype} cannot be sharded unevenly because its reduction has no identity"),
                    )
                    .at(self.rw.module.ops[self.at].span)
                    .hint("shard a dimension whose size is a multiple of the number of shards, or compute in a wider type"),
                );
                None
            }
        }
    }

    pub(crate) fn mask_reduce(&mut self, op: OpId) {
        let OpKind::Reduce { dims } = self.rw.module.ops[op].kind.clone() else { return };
        let inputs = self.rw.module.ops[op].operands.len() / 2;
        self.count_init_once(op, &dims);
        // The padding becomes the identity if the reduction is not idempotent, and the initial value otherwise.
        let counts = collective_reduction(self.rw.module, op).filter(|&kind| !is_idempotent(kind));
        for i in 0..inputs {
            for &dim in &dims {
                let value = self.rw.module.ops[op].operands[i];
                if !self.is_split(value, dim as usize) || !self.is_padded(value, dim as usize) {
                    continue;
                }
                let fill = match (counts, self.rw.module.tensor(value).map(|t| t.dtype)) {
                    (Some(kind), Some(dtype)) => self.identity_scalar(kind, dtype),
                    _ => Some(self.rw.module.ops[op].operands[inputs + i]),
                };
                let Some(fill) = fill else { return };
                let masked = self.mask_tail_of(value, dim as usize, fill);
                self.rw.module.ops[op].operands[i] = masked;
            }
        }
    }

    /// If each device reduces a single element, combines the element with the initial value explicitly. XLA's back ends replace such a
    /// reduction by the element, and ignore the initial value.
    pub(super) fn keep_init(&mut self, op: OpId) {
        let data = &self.rw.module.ops[op];
        let (&[value, init], OpKind::Reduce { dims }) = (data.operands.as_slice(), &data.kind) else {
            return;
        };
        let Some(kind) = collective_reduction(self.rw.module, op) else { return };
        let shape = self.rw.module.shape(value);
        let one_is_left = dims.iter().all(|&d| shape[d as usize] == 1)
            && dims.iter().any(|&d| self.is_split(value, d as usize));
        let result = data.results[0];
        let Some(ty) = self.rw.module.tensor(result).cloned() else { return };
        if !one_is_left || is_identity(self.rw.module, init, kind) {
            return;
        }
        let result_ty = self.rw.module.values[result].ty;
        let element = self.emit(OpKind::Reshape, &[value], result_ty);
        let init = self.broadcast_scalar(init, &ty.shape, ty.dtype);
        let data = &mut self.rw.module.ops[op];
        data.kind = OpKind::Binary(kind.op());
        data.operands = [element, init].into_iter().collect();
        data.regions.clear();
    }

    /// For a reduction over sharded dimensions, keeps the initial value on the first device along the axes; the other devices use the
    /// identity. Does nothing if the reduction is idempotent or the initial value is the identity.
    fn count_init_once(&mut self, op: OpId, dims: &[u32]) {
        let &[value, init] = self.rw.module.ops[op].operands.as_slice() else { return };
        let Some(kind) = collective_reduction(self.rw.module, op) else { return };
        let axes: Vec<AxisRef> = dims
            .iter()
            .flat_map(|&d| self.sharding(value).map(|s| s.axes(d as usize).to_vec()).unwrap_or_default())
            .collect();
        if axes.is_empty() || is_idempotent(kind) || is_identity(self.rw.module, init, kind) {
            return;
        }
        let first = self.on_first(init, &axes, kind);
        self.rw.module.ops[op].operands[1] = first;
    }

    /// Emits a value that equals `value` on the first device along `axes` and the identity of the reduction on the others.
    pub(crate) fn on_first(&mut self, value: ValueId, axes: &[AxisRef], kind: ReductionKind) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        let Some(identity) = self.identity_scalar(kind, ty.dtype) else { return value };
        let coordinate = self.linear_coordinate(axes);
        let zero = self.i32_scalar(0);
        let pred = self.tensor_type(&[], DType::I1);
        let compare = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let first = self.emit(compare, &[coordinate, zero], pred);
        let rest = self.broadcast_scalar(identity, &ty.shape, ty.dtype);
        let value_ty = self.rw.module.values[value].ty;
        self.emit(OpKind::Select, &[first, value, rest], value_ty)
    }

    /// Like [`Localizer::mask_tail`], but records the sharding and global type of `value` for the result, so that it can be masked again.
    pub(crate) fn mask_tail_of(&mut self, value: ValueId, dim: usize, fill: ValueId) -> ValueId {
        let masked = self.mask_tail(value, dim, fill);
        self.same_tensor(masked, value);
        masked
    }

    /// Copies the recorded sharding and global type of `old` to `new`.
    pub(crate) fn same_tensor(&mut self, new: ValueId, old: ValueId) {
        let global = self.global[EntityRef::index(old)];
        self.note_tensor(new, global, self.rw.module.shardings.of(old));
    }

    /// Records the global type and the sharding of a value that this pass created.
    pub(super) fn note_tensor(&mut self, value: ValueId, global: TypeId, sharding: Option<ShardingId>) {
        let index = EntityRef::index(value);
        if self.global.len() <= index {
            self.global.resize(index + 1, global);
        }
        self.global[index] = global;
        self.rw.module.shardings.set(value, sharding);
    }

    /// Masks the contracting dimensions of both operands of a matmul or convolution. Masking one operand is not enough: padding may
    /// contain infinities, and zero times infinity is NaN.
    pub(crate) fn mask_contraction(&mut self, op: OpId) {
        let contracted: [Vec<u32>; 2] = match &self.rw.module.ops[op].kind {
            OpKind::DotGeneral(spec) => [spec.lhs_contract.to_vec(), spec.rhs_contract.to_vec()],
            OpKind::RaggedDot(spec) => [spec.lhs_contract.to_vec(), spec.rhs_contract.to_vec()],
            // A spatial dimension is sharded as a contracting dimension only if one window covers it. Features of several groups
            // are not sharded unevenly.
            OpKind::Convolution(spec) => {
                let result = self.rw.module.ops[op].results[0];
                let covered = |dims: &[u32], feature: u32| -> Vec<u32> {
                    let spatial = dims.iter().zip(&spec.output.spatial);
                    let covered = spatial.filter(|&(_, &o)| !self.is_split(result, o as usize));
                    let feature = (spec.feature_group_count == 1).then_some(feature);
                    covered.map(|(&d, _)| d).chain(feature).collect()
                };
                [
                    covered(&spec.input.spatial, spec.input.feature),
                    covered(&spec.kernel.spatial, spec.kernel.input_feature),
                ]
            }
            _ => return,
        };
        for (i, dims) in contracted.into_iter().enumerate() {
            for dim in dims {
                let value = self.rw.module.ops[op].operands[i];
                if self.is_split(value, dim as usize) && self.is_padded(value, dim as usize) {
                    let Some(dtype) = self.rw.module.tensor(value).map(|t| t.dtype) else { continue };
                    let Some(zero) = self.identity_scalar(ReductionKind::Add, dtype) else { return };
                    let masked = self.mask_tail_of(value, dim as usize, zero);
                    self.rw.module.ops[op].operands[i] = masked;
                }
            }
        }
    }
}
