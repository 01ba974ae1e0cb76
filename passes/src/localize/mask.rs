//! Padding: what a reduction must not see.
//!
//! Where a dimension does not divide evenly, the last blocks end in elements that mean nothing. Whatever
//! combines elements along that dimension first replaces them by the identity of the combination.
//!
//! **Invariant.** A dimension of size `n` split `k` ways gives each device `ceil(n / k)` elements. What lies beyond `n` has
//! *any* value, at the boundary of the program and inside it; a collective pads before it cuts, and trims after it puts
//! together (`collective`).

use shardc_ir::{
    AxisRef, CompareDirection, CompareType, DType, Diagnostic, OpId, OpKind, ReductionKind, ValueId,
};

use super::{Localizer, Place};
use crate::analysis::reducer::{collective_reduction, identity, is_idempotent, is_identity};

impl Localizer<'_> {
    /// `value` with `fill` (a scalar) where its index along `dim` is beyond the global size.
    pub(crate) fn mask_tail(
        &mut self,
        place: &mut Place<'_>,
        value: ValueId,
        dim: usize,
        fill: ValueId,
    ) -> ValueId {
        let Some(size) = self.global(value).map(|t| t.shape[dim]) else { return value };
        let Some(ty) = self.module.tensor(value).cloned() else { return value };
        let index = self.global_index(place, value, dim, &ty.shape);
        let size = self.i32_splat(place, size, &ty.shape);
        let pred_ty = self.tensor_type(&ty.shape, DType::I1);
        let compare = OpKind::Compare(CompareDirection::LT, Some(CompareType::Signed));
        let inside = self.emit(place, compare, &[index, size], pred_ty);
        let fill = self.broadcast_scalar(place, fill, &ty.shape, ty.dtype);
        let value_ty = self.module.values[value].ty;
        self.emit(place, OpKind::Select, &[inside, value, fill], value_ty)
    }

    /// The identity of `kind` as a scalar.
    pub(crate) fn identity_scalar(
        &mut self,
        place: &mut Place<'_>,
        kind: ReductionKind,
        dtype: DType,
    ) -> Option<ValueId> {
        match identity(kind, dtype) {
            Some(bytes) => Some(self.splat(place, &bytes, &[], dtype)),
            None => {
                let name = self.module.ops[place.at].kind.name().to_owned();
                self.fail(
                    Diagnostic::unsupported(
                        "SH0410",
                        format!("{name} over {dtype} cannot be done in parts of uneven size"),
                    )
                    .at(self.module.ops[place.at].span)
                    .hint("shard a dimension that the mesh axis divides, or compute in a wider type"),
                );
                None
            }
        }
    }

    pub(crate) fn mask_reduce(&mut self, op: OpId, place: &mut Place<'_>) {
        let OpKind::Reduce { dims } = self.module.ops[op].kind.clone() else { return };
        let inputs = self.module.ops[op].operands.len() / 2;
        self.count_init_once(op, &dims, place);
        // Where it makes a difference how often the initial value counts, the tail must not count at all.
        let counts = collective_reduction(self.module, op).filter(|&kind| !is_idempotent(kind));
        for i in 0..inputs {
            for &dim in &dims {
                let value = self.module.ops[op].operands[i];
                if !self.is_split(value, dim as usize) || !self.is_padded(value, dim as usize) {
                    continue;
                }
                let fill = match (counts, self.module.tensor(value).map(|t| t.dtype)) {
                    (Some(kind), Some(dtype)) => self.identity_scalar(place, kind, dtype),
                    _ => Some(self.module.ops[op].operands[inputs + i]),
                };
                let Some(fill) = fill else { return };
                let masked = self.mask_tail_of(place, value, dim as usize, fill);
                self.module.ops[op].operands[i] = masked;
            }
        }
    }

    /// XLA's back ends take the reduction of one element for that element, and leave out the initial value, which counts where
    /// one device reduces several. Where one element is left to each device, it is combined with the initial value.
    pub(super) fn keep_init(&mut self, op: OpId, place: &mut Place<'_>) {
        let data = &self.module.ops[op];
        let (&[value, init], OpKind::Reduce { dims }) = (data.operands.as_slice(), &data.kind) else {
            return;
        };
        let Some(kind) = collective_reduction(self.module, op) else { return };
        let shape = self.module.shape(value);
        let one_is_left = dims.iter().all(|&d| shape[d as usize] == 1)
            && dims.iter().any(|&d| self.is_split(value, d as usize));
        let result = data.results[0];
        let Some(ty) = self.module.tensor(result).cloned() else { return };
        if !one_is_left || is_identity(self.module, init, kind) {
            return;
        }
        let result_ty = self.module.values[result].ty;
        let element = self.emit(place, OpKind::Reshape, &[value], result_ty);
        let init = self.broadcast_scalar(place, init, &ty.shape, ty.dtype);
        let data = &mut self.module.ops[op];
        data.kind = OpKind::Binary(kind.op());
        data.operands = [element, init].into_iter().collect();
        data.regions.clear();
    }

    /// The first device along the axes of a split reduction begins with the initial value, the others with the
    /// identity, unless that makes no difference.
    fn count_init_once(&mut self, op: OpId, dims: &[u32], place: &mut Place<'_>) {
        let &[value, init] = self.module.ops[op].operands.as_slice() else { return };
        let Some(kind) = collective_reduction(self.module, op) else { return };
        let axes: Vec<AxisRef> = dims
            .iter()
            .flat_map(|&d| self.sharding(value).map(|s| s.axes(d as usize).to_vec()).unwrap_or_default())
            .collect();
        if axes.is_empty() || is_idempotent(kind) || is_identity(self.module, init, kind) {
            return;
        }
        let first = self.on_first(place, init, &axes, kind);
        self.module.ops[op].operands[1] = first;
    }

    /// `value` on the first device along `axes`, and the identity on the others.
    pub(crate) fn on_first(
        &mut self,
        place: &mut Place<'_>,
        value: ValueId,
        axes: &[AxisRef],
        kind: ReductionKind,
    ) -> ValueId {
        let Some(ty) = self.module.tensor(value).cloned() else { return value };
        let Some(identity) = self.identity_scalar(place, kind, ty.dtype) else { return value };
        let coordinate = self.linear_coordinate(place, axes);
        let zero = self.i32_scalar(place, 0);
        let pred = self.tensor_type(&[], DType::I1);
        let compare = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let first = self.emit(place, compare, &[coordinate, zero], pred);
        let rest = self.broadcast_scalar(place, identity, &ty.shape, ty.dtype);
        let value_ty = self.module.values[value].ty;
        self.emit(place, OpKind::Select, &[first, value, rest], value_ty)
    }

    /// [`Localizer::mask_tail`], keeping the sharding and global type on the result, so that it can be masked again.
    pub(crate) fn mask_tail_of(
        &mut self,
        place: &mut Place<'_>,
        value: ValueId,
        dim: usize,
        fill: ValueId,
    ) -> ValueId {
        let masked = self.mask_tail(place, value, dim, fill);
        self.same_tensor(masked, value);
        masked
    }

    /// `new` is placed on the mesh as `old` is.
    pub(crate) fn same_tensor(&mut self, new: ValueId, old: ValueId) {
        let global = self.global[shardc_ir::EntityRef::index(old)];
        let index = shardc_ir::EntityRef::index(new);
        if self.global.len() <= index {
            self.global.resize(index + 1, global);
        }
        self.global[index] = global;
        let sharding = self.module.shardings.of(old);
        self.module.shardings.set(new, sharding);
    }

    /// Both sides: padding may hold infinities, and zero times infinity is not zero.
    pub(crate) fn mask_contraction(&mut self, op: OpId, place: &mut Place<'_>) {
        let contracted: [Vec<u32>; 2] = match &self.module.ops[op].kind {
            OpKind::DotGeneral(spec) => [spec.lhs_contract.to_vec(), spec.rhs_contract.to_vec()],
            OpKind::RaggedDot(spec) => [spec.lhs_contract.to_vec(), spec.rhs_contract.to_vec()],
            // Of spatial dimensions only those that one window covers are contracted in parts; of features in groups, none
            // that do not come out even.
            OpKind::Convolution(spec) => {
                let result = self.module.ops[op].results[0];
                let covered = |dims: &[u32], feature: u32| -> Vec<u32> {
                    let spatial = dims.iter().zip(&spec.output.spatial);
                    let covered = spatial.filter(|&(_, &o)| !self.is_split(result, o as usize));
                    let feature = (spec.feature_group_count == 1).then_some(feature);
                    covered.map(|(&d, _)| d).chain(feature).collect()
                };
                [covered(&spec.input.spatial, spec.input.b), covered(&spec.kernel.spatial, spec.kernel.a)]
            }
            _ => return,
        };
        for (i, dims) in contracted.into_iter().enumerate() {
            for dim in dims {
                let value = self.module.ops[op].operands[i];
                if self.is_split(value, dim as usize) && self.is_padded(value, dim as usize) {
                    let Some(dtype) = self.module.tensor(value).map(|t| t.dtype) else { continue };
                    let Some(zero) = self.identity_scalar(place, ReductionKind::Add, dtype) else { return };
                    let masked = self.mask_tail_of(place, value, dim as usize, zero);
                    self.module.ops[op].operands[i] = masked;
                }
            }
        }
    }
}
