//! Identity operations that affect differentiation.

use shardc_autodiff::{CHECKPOINT_NAME, STOP_GRADIENT};
use shardc_ir::{Attr, AttrDict, Build, CompositeSpec, OpKind};

use super::function::identity;
use crate::Tensor;

impl<'g> Tensor<'g> {
    /// Returns this tensor, treated as a constant by differentiation.
    #[must_use]
    #[track_caller]
    pub fn stop_gradient(self) -> Tensor<'g> {
        self.handed_on(STOP_GRADIENT, None)
    }

    /// Returns this tensor, named for checkpointing policies (`jax.ad_checkpoint.checkpoint_name`): see
    /// [`Keep::Named`](shardc_autodiff::Keep::Named).
    #[must_use]
    #[track_caller]
    pub fn checkpoint_name(self, name: &str) -> Tensor<'g> {
        let mut attributes = AttrDict::new();
        attributes.set("name", Attr::Str(name.into()));
        self.handed_on(CHECKPOINT_NAME, Some(attributes))
    }

    #[track_caller]
    fn handed_on(self, name: &str, attributes: Option<AttrDict>) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let ty = m.state.module.values[values[0]].ty;
            let identity = identity(&mut m.state.module, ty);
            let decomposition = m.state.module.funcs[identity].name.clone();
            let spec = CompositeSpec { name: name.into(), attributes, decomposition, version: None };
            Ok(m.op1(OpKind::Composite(Box::new(spec)), values, ty))
        })
    }
}
