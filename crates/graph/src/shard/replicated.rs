//! Replication checks of `shard_map` results.

use shardc_ir::{OpId, ValueId};
use shardc_passes::internal::axes_results_vary_along;

use super::AxisNames;
use super::collectives::manual_axes;
use crate::error::ErrorKind;
use crate::graph::{Graph, State};
use crate::{PartitionSpec, Tensor};

impl<'g> Tensor<'g> {
    /// Asserts that the tensor is replicated along these axes if inference cannot prove it: for example, a sum computed by a ring of
    /// [`ppermute`](Tensor::ppermute). The assertion must be the last operation on a tensor that the body of a
    /// [`shard_map`](Graph::shard_map) returns. JAX's `check_vma=False` makes the same assertion for all results.
    ///
    /// If the assertion is false, the results of the program depend on the device that they are read from.
    ///
    /// Reports an error if the call is not inside a `shard_map` over the axes.
    #[must_use]
    #[track_caller]
    pub fn assume_replicated(self, axes: impl AxisNames) -> Tensor<'g> {
        self.graph().make_many(&[self], 0, |m, _| {
            let axes = manual_axes(m, &axes.names())?;
            m.state.assumed.entry(self.id()).or_default().extend(axes);
            Ok(Vec::new())
        });
        self
    }
}

impl Graph {
    /// Reports `shard_map` results whose specification omits an axis along which devices may have different values. `results` are the
    /// results of the operation, `returned` the tensors that its body returns.
    #[track_caller]
    pub(super) fn check_replicated<'g>(
        &'g self,
        results: &[ValueId],
        returned: &[Tensor<'g>],
        specs: &[PartitionSpec],
    ) {
        let Some(op) = results.first().and_then(|&value| self.with_module(|module| module.def_op(value)))
        else {
            return;
        };
        let varying = self.state.borrow().varying(op, returned);
        for (result, ((axes, &tensor), spec)) in varying.into_iter().zip(returned).zip(specs).enumerate() {
            if !axes.is_empty() {
                self.report(&[tensor], ErrorKind::Varies { result, spec: spec.to_string(), axes });
            }
        }
    }
}

impl State {
    /// Returns, for each result of a `shard_map`, the omitted axes of its specification along which devices may have different values.
    fn varying(&self, op: OpId, returned: &[Tensor<'_>]) -> Vec<Vec<String>> {
        let outer: Vec<_> = self.manual.iter().flatten().copied().collect();
        let mesh = &self.module.meshes[self.mesh];
        let results = axes_results_vary_along(&self.module, op, &outer).into_iter().zip(returned);
        results
            .map(|(axes, tensor)| {
                let assumed = self.assumed.get(&tensor.id());
                let is_reported = |axis: &_| !assumed.is_some_and(|assumed| assumed.contains(axis));
                axes.iter()
                    .filter(|axis| is_reported(axis))
                    .map(|&axis| mesh.axis_name(axis).to_owned())
                    .collect()
            })
            .collect()
    }
}
