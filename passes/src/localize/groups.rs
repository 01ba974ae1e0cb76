//! Computes the local `feature_group_count` and `batch_group_count` of a convolution.

use shardc_ir::{OpId, OpKind};

use super::Localizer;

impl Localizer<'_> {
    /// Computes group counts from local shapes: input features divided by kernel input features, and the input batch divided by the result
    /// batch. Windows, which replace operands later, change only the sizes of other dimensions.
    pub(super) fn keep_own_groups(&mut self, op: OpId) {
        let data = &self.rw.module.ops[op];
        let (&[input, kernel, ..], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else {
            return;
        };
        let OpKind::Convolution(spec) = &data.kind else { return };
        let size = |value, dim: u32| self.rw.module.shape(value).get(dim as usize).copied().unwrap_or(0);
        let count = |whole: i64, one: i64, as_written: i64| {
            // If a group has no features or no batch elements, the count is irrelevant.
            whole.checked_div(one).filter(|&n| n > 0).unwrap_or(as_written)
        };
        // Example: 16 features in 8 groups over 4 devices. A device has 4 input features and 2 kernel features, so the local count is 2.
        // Dividing the count by the number of devices would be wrong if the batch or a spatial dimension is sharded.
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
