//! Conversion to unreduced values: a replicated or sharded value becomes partial sums on the devices. Nothing is sent.

use shardc_ir::{
    AxisList, AxisRef, CompareDirection, CompareType, DType, Diagnostic, OpKind, ReductionKind, ValueId,
};
use smallvec::SmallVec;

use super::Localizer;
use crate::analysis::reducer::{identity, is_identity};

impl Localizer<'_> {
    /// Emits a value that equals `value` on the first device along `axes` and the identity of the reduction on the others, so that the
    /// reduction returns `value`.
    pub(super) fn kept_by_first(&mut self, value: ValueId, axes: &[AxisRef], by: ReductionKind) -> ValueId {
        if is_identity(self.rw.module, value, by) {
            return value;
        }
        let index = self.linear_coordinate(axes);
        let first = self.i32_scalar(0);
        let bool_ty = self.tensor_type(&[], DType::I1);
        let equal = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let is_first = self.emit(equal, &[index, first], bool_ty);
        let Some(nothing) = self.nothing_like(value, by, None) else { return value };
        let ty = self.rw.module.values[value].ty;
        self.emit(OpKind::Select, &[is_first, value, nothing], ty)
    }

    /// Returns a tensor of shape `target` with the device's block at its position and the identity of the reduction elsewhere. `axes` are
    /// the axes that shard each dimension.
    pub(super) fn placed_as_addend(
        &mut self,
        value: ValueId,
        axes: &[AxisList],
        target: &[i64],
        by: ReductionKind,
    ) -> ValueId {
        let Some(ty) = self.rw.module.tensor(value).cloned() else { return value };
        // The size of the tensor is first a multiple of the block size, and then trimmed to `target`: otherwise `dynamic_update_slice`
        // would clamp the start of a block that extends beyond the end.
        let mesh = self.mesh.clone();
        let shape: SmallVec<[i64; 4]> =
            ty.shape.iter().zip(axes).map(|(&n, axes)| n * mesh.axes_size(axes)).collect();
        let Some(nothing) = self.nothing_like(value, by, Some(&shape)) else { return value };
        let mut operands = vec![nothing, value];
        for (axes, &block) in axes.iter().zip(&ty.shape) {
            let start = if axes.is_empty() { self.i32_scalar(0) } else { self.offset(axes, block) };
            operands.push(start);
        }
        let whole = self.tensor_type(&shape, ty.dtype);
        let mut placed = self.emit(OpKind::DynamicUpdateSlice, &operands, whole);
        for (dim, &size) in target.iter().enumerate() {
            placed = self.trim(placed, dim, size);
        }
        placed
    }

    /// Returns a tensor of shape `shape`, or of the shape of `value`, that is filled with the identity of the reduction.
    fn nothing_like(&mut self, value: ValueId, by: ReductionKind, shape: Option<&[i64]>) -> Option<ValueId> {
        let ty = self.rw.module.tensor(value).cloned();
        let made = ty.as_ref().filter(|ty| ty.is_static()).and_then(|ty| Some((ty, identity(by, ty.dtype)?)));
        let Some((ty, element)) = made else {
            self.fail_as_addend(value);
            return None;
        };
        Some(self.splat(&element, shape.unwrap_or(&ty.shape), ty.dtype))
    }
    /// Reports SH0411: `value` cannot be converted to partial sums.
    pub(super) fn fail_as_addend(&mut self, value: ValueId) {
        let ty = self.rw.module.types.display(self.rw.module.values[value].ty).to_string();
        let message = format!(
            "a value of type {ty} cannot be unreduced because its reduction has no identity of that type"
        );
        let hint = "remove unreduced from its annotation, or use a static shape and a numeric element type";
        let mut error =
            Diagnostic::unsupported("SH0411", message).at(self.rw.module.ops[self.at].span).hint(hint);
        error.user_loc = self.rw.module.user_loc(self.at);
        self.fail(error);
    }
}
