//! Computes the local `feature_group_count` and `batch_group_count` of a convolution.

use shardc_ir::{OpId, OpKind};

use super::Localizer;

impl Localizer<'_> {
    /// The groups that the local shapes of a convolution leave: each has as many input features as the kernel, and as many
    /// batches as the result. Runs before windows change shapes; they do so along other dimensions.
    pub(super) fn keep_own_groups(&mut self, op: OpId) {
        let data = &self.rw.module.ops[op];
        let (&[input, kernel, ..], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else {
            return;
        };
        let OpKind::Convolution(spec) = &data.kind else { return };
        let size = |value, dim: u32| self.rw.module.shape(value).get(dim as usize).copied().unwrap_or(0);
        let count = |whole: i64, one: i64, as_written: i64| {
            // Where there is nothing in a group it does not matter how many there are.
            whole.checked_div(one).filter(|&n| n > 0).unwrap_or(as_written)
        };
        // 16 features in 8 groups over 4 devices: 4 of the input, 2 of the kernel's, so that 2 groups are left. The
        // count as written cannot be divided by the devices instead: the batch or a spatial dimension may be what is
        // split.
        let features = count(
            size(input, spec.input.feature),
            size(kernel, spec.kernel.input_feature),
            spec.feature_group_count,
        );
        let batches =
            count(size(input, spec.input.batch), size(result, spec.output.batch), spec.batch_group_count);
        if let OpKind::Convolution(spec) = &mut self.rw.module.ops[op].kind {
            spec.feature_group_count = features;
            spec.batch_group_count = batches;
        }
    }
}
