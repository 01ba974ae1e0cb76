//! Parameter groups with different optimizers.

use std::fmt;
use std::rc::Rc;

use shardc_graph::Tensor;

use super::{Optimizer, checked_updates};
use crate::{Param, Scope};

/// Several optimizers, each for a group of parameters, like `optax.multi_transform` or PyTorch's parameter groups.
///
/// A parameter is in the first group whose predicate matches, otherwise in the default group. Optimizer state is named after the parameter,
/// not the group: the state of a plain [`AdamW`](super::AdamW) can be used with several AdamW groups, and vice versa. Optimizers share the
/// step counter and all other variables that belong to no parameter.
///
/// ```
/// use shardc_nn::optim::{self, AdamW, Groups, Muon};
///
/// let adamw = AdamW::new(3e-4).with_weight_decay(0.1);
/// // No weight decay for biases and norms, and another rate for the output.
/// let plain = Groups::new(adamw.clone())
///     .with("no decay", optim::is_bias_or_norm, adamw.clone().with_weight_decay(0.0))
///     .with("output", |param| param.name.starts_with("lm_head."), AdamW::new(1e-4));
/// // Muon for matrices of layers, AdamW for the rest.
/// let muon = Groups::new(adamw)
///     .with("matrices", |param| param.name.starts_with("h.") && param.name.ends_with("kernel") && param.rank() == 2, Muon::new(0.02));
/// # _ = (plain, muon);
/// ```
#[derive(Clone)]
pub struct Groups {
    groups: Vec<Group>,
    rest: Rc<dyn Optimizer>,
}

#[derive(Clone)]
struct Group {
    name: String,
    holds: Rc<dyn Fn(&Param<'_>) -> bool>,
    optimizer: Rc<dyn Optimizer>,
}

/// Shows the names of the groups, in order.
impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.groups.iter().map(|group| &group.name)).finish()
    }
}

impl Groups {
    /// Creates groups with the optimizer `rest` for the default group, which has all parameters until groups are added.
    #[must_use]
    pub fn new(rest: impl Optimizer + 'static) -> Groups {
        Groups { groups: Vec::new(), rest: Rc::new(rest) }
    }

    /// Adds a group with its own optimizer: the parameters that `holds` selects and no earlier group contains. The optimizer [`Frozen`]
    /// leaves the group unchanged. [`Param::rank`] and [`Param::shape`] describe one layer, also in a stack.
    ///
    /// [`apply`](super::apply) reports an error if the group has no parameters.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        holds: impl Fn(&Param<'_>) -> bool + 'static,
        optimizer: impl Optimizer + 'static,
    ) -> Groups {
        self.groups.push(Group {
            name: name.to_owned(),
            holds: Rc::new(holds),
            optimizer: Rc::new(optimizer),
        });
        self
    }

    /// Returns the error message for a group without parameters.
    fn empty(group: &Group, params: &[Param<'_>]) -> String {
        let name = &group.name;
        if params.iter().any(|param| (group.holds)(param)) {
            return format!("every parameter of the group {name:?} is already in an earlier group");
        }
        let names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("no parameter is in the group {name:?}; the parameters are {known}")
    }
}

impl Optimizer for Groups {
    #[track_caller]
    fn updates<'g>(
        &self,
        p: &Scope<'g>,
        params: &[Param<'g>],
        gradients: &[Tensor<'g>],
        count: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        let number = |param: &Param<'g>| self.groups.iter().position(|group| (group.holds)(param));
        let numbers: Vec<Option<usize>> = params.iter().map(number).collect();
        let mut updates = gradients.to_vec();
        for of in (0..self.groups.len()).map(Some).chain([None]) {
            let members: Vec<usize> = (0..params.len()).filter(|&i| numbers[i] == of).collect();
            let group = of.map(|of| &self.groups[of]);
            if members.is_empty() {
                if let Some(group) = group {
                    p.graph().refuse(&[], Groups::empty(group, params));
                }
                continue;
            }
            let own: Vec<Param<'g>> = members.iter().map(|&i| params[i].clone()).collect();
            let by: Vec<Tensor<'g>> = members.iter().map(|&i| gradients[i]).collect();
            let optimizer = group.map_or(&*self.rest, |group| &*group.optimizer);
            for (i, update) in members.into_iter().zip(checked_updates(optimizer, p, &own, &by, count)) {
                updates[i] = update;
            }
        }
        updates
    }
}

/// Leaves parameters unchanged and keeps no state: `optax.set_to_zero`, for a group of [`Groups`]. The gradients of the group still count
/// in a global norm; parameters of a [`frozen`](Scope::frozen) scope have no gradients.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frozen;

impl Optimizer for Frozen {
    fn updates<'g>(
        &self,
        _: &Scope<'g>,
        params: &[Param<'g>],
        _: &[Tensor<'g>],
        _: Tensor<'g>,
    ) -> Vec<Tensor<'g>> {
        params.iter().map(|param| param.tensor.zeros_like()).collect()
    }
}

/// Returns whether a parameter is a bias or another vector, such as the scale of a normalization. Such parameters usually have no weight
/// decay.
#[must_use]
pub fn is_bias_or_norm(param: &Param<'_>) -> bool {
    let last = param.name.rsplit('.').next();
    last == Some("bias") || param.rank() < 2
}
