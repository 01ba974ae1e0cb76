//! Results of a `shard_map` that one device stands for.

use shardc_ir::{OpId, ValueId};
use shardc_passes::internal::axes_results_vary_along;

use super::AxisNames;
use super::collectives::manual_axes;
use crate::error::ErrorKind;
use crate::graph::{Graph, State};
use crate::{PartitionSpec, Tensor};

impl<'g> Tensor<'g> {
    /// Says that devices along these axes have the same tensor here, though that cannot be seen: of a sum by a ring of
    /// [`ppermute`](Tensor::ppermute), for one. It is the last thing that is done with what the body of a
    /// [`shard_map`](Graph::shard_map) returns; `check_vma=False` says it in JAX, of all results.
    ///
    /// Where it does not hold, what the program computes depends on which device is asked.
    ///
    /// Reported: this is not inside of a `shard_map` over the axes.
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
    /// Reports the results of a `shard_map`, which made `results` of what its body returns, that are taken from one of several devices
    /// which may have different ones.
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
    /// The names of the axes along which devices may differ in each result of a `shard_map`, of those that its specification leaves out.
    fn varying(&self, op: OpId, returned: &[Tensor<'_>]) -> Vec<Vec<String>> {
        let outer: Vec<_> = self.manual.iter().flatten().copied().collect();
        let mesh = &self.module.meshes[self.mesh];
        let results = axes_results_vary_along(&self.module, op, &outer).into_iter().zip(returned);
        results
            .map(|(axes, tensor)| {
                let assumed = self.assumed.get(&tensor.id());
                let is_told = |axis: &_| !assumed.is_some_and(|assumed| assumed.contains(axis));
                axes.iter()
                    .filter(|axis| is_told(axis))
                    .map(|&axis| mesh.axis_name(axis).to_owned())
                    .collect()
            })
            .collect()
    }
}
