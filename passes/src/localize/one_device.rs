//! Operations that one device does for all.
//!
//! `stablehlo.rng` draws from a generator that is the device's own, so every device would have other numbers. One device draws:
//! its numbers are an addend to which the others add zeros, and the sum over all devices is the value that all share. The
//! numbers of `rng_bit_generator` follow from its state and are the same on every mesh.

use shardc_ir::{CompareDirection, CompareType, DType, Diagnostic, OpId, OpKind};

use super::Localizer;

impl Localizer<'_> {
    /// What `op` draws on the first of the devices along the axes over which its result is pending, zero on the others:
    /// each of them would draw other numbers.
    pub(super) fn drawn_by_one(&mut self, op: OpId) {
        let axes =
            self.sharding(self.rw.module.ops[op].results[0]).map(|s| s.unreduced.clone()).unwrap_or_default();
        if axes.is_empty() {
            return;
        }
        let result = self.rw.module.ops[op].results[0];
        if let Some(ty) = self.rw.module.tensor(result).filter(|ty| !ty.is_static()) {
            // The zeros of the others would be a constant of unknown size.
            let message = format!("stablehlo.rng draws {ty}, which has a size that is not known");
            let hint =
                "give it a constant shape, or draw with rng_bit_generator, which is the same on every device";
            let mut error =
                Diagnostic::unsupported("SH0315", message).at(self.rw.module.ops[op].span).hint(hint);
            error.user_loc = self.rw.module.user_loc(op);
            self.fail(error);
            return;
        }
        let (old, drawn) = self.detach_result(op, 0);
        self.rw.keep();
        let Some(ty) = self.rw.module.tensor(drawn).cloned() else { return };
        let index = self.linear_coordinate(&axes);
        let first = self.i32_scalar(0);
        let bool_ty = self.tensor_type(&[], DType::I1);
        let equal = OpKind::Compare(CompareDirection::EQ, Some(CompareType::Signed));
        let is_first = self.emit(equal, &[index, first], bool_ty);
        let zeros = self.splat(&vec![0; ty.dtype.bytes()], &ty.shape, ty.dtype);
        let value = self.emit(OpKind::Select, &[is_first, drawn, zeros], self.rw.module.values[drawn].ty);
        self.attach(old, value);
    }
}
