//! Operations whose result is taken from one device: `stablehlo.rng`.
//!
//! Each device has its own generator, so each would generate different numbers. Therefore only the numbers of one device are kept, the
//! other devices contribute zeros, and the sum over all devices is the shared value. The numbers of `rng_bit_generator` depend only on
//! its state, and are the same on every mesh.

use shardc_ir::{DType, Diagnostic, OpId, ReductionKind};

use super::Localizer;

impl Localizer<'_> {
    /// Keeps the random numbers of the first device along the unreduced axes of the result, and zeros on the others.
    pub(super) fn drawn_by_one(&mut self, op: OpId) {
        let axes =
            self.sharding(self.rw.module.ops[op].results[0]).map(|s| s.unreduced.clone()).unwrap_or_default();
        if axes.is_empty() {
            return;
        }
        let result = self.rw.module.ops[op].results[0];
        if let Some(ty) = self.rw.module.tensor(result).filter(|ty| !ty.is_static()) {
            // The zeros of the other devices are a constant, which cannot have a dynamic shape.
            let message = format!("the result of stablehlo.rng has type {ty}, which has a dynamic dimension");
            let hint = "give it a static shape, or use rng_bit_generator, which is the same on every device";
            let mut error =
                Diagnostic::unsupported("SH0315", message).at(self.rw.module.ops[op].span).hint(hint);
            error.user_loc = self.rw.module.user_loc(op);
            self.fail(error);
            return;
        }
        let (old, drawn) = self.detach_result(op, 0);
        self.rw.keep();
        let by = if self.rw.module.tensor(drawn).is_some_and(|ty| ty.dtype == DType::I1) {
            ReductionKind::Or
        } else {
            ReductionKind::Add
        };
        let value = self.kept_by_first(drawn, &axes, by);
        self.attach(old, value);
    }
}
