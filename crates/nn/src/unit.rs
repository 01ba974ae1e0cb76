//! Units: parts of a model that gradient checkpointing rematerializes separately.

use shardc_graph::{Tensor, Tree};

use crate::{Scope, values};

/// The target of a `set`: a variable, or a tensor that replaces one.
enum Place {
    Variable(String),
    Given(values::Place),
}

impl<'g> Scope<'g> {
    /// Calls `body` with `inputs` and the nested scope of this name, as a unit: in a [`checkpointed`](Scope::checkpointed) scope, the
    /// backward pass rematerializes the unit.
    #[track_caller]
    pub fn unit<I: Tree<'g>, O: Tree<'g>>(
        &self,
        name: impl AsRef<str>,
        inputs: I,
        body: impl FnOnce(&Scope<'g>, I) -> O,
    ) -> O {
        self.at(name).remembered(inputs, body)
    }

    /// Calls `body` with `inputs`; the checkpointing policy, if any, selects the values that are saved for the backward pass.
    #[track_caller]
    pub(crate) fn remembered<I: Tree<'g>, O: Tree<'g>>(
        &self,
        inputs: I,
        body: impl FnOnce(&Scope<'g>, I) -> O,
    ) -> O {
        // Nested units are checkpointed separately.
        let Some(policy) = self.checkpoint.clone() else { return body(self, inputs) };
        let before = self.take_set();
        let mut places = Vec::new();
        // Next values of variables that the body sets are also outputs of the unit.
        let (outputs, values) = self.graph.checkpoint(policy, inputs, |inputs| {
            let outputs = body(self, inputs);
            let (set, values): (Vec<_>, Vec<Tensor<'g>>) = self.take_set().into_iter().unzip();
            places = set;
            (outputs, values)
        });
        self.put_set(before);
        self.put_set(places.into_iter().zip(values));
        outputs
    }

    /// Removes and returns the next values that were set, of variables and of tensors that replace them.
    fn take_set(&self) -> Vec<(Place, Tensor<'g>)> {
        let mut taken = Vec::new();
        for (name, entry) in self.entries.borrow_mut().iter_mut() {
            taken.extend(entry.next.take().map(|next| (Place::Variable(name.clone()), next)));
        }
        let given = self.values.take_set().into_iter();
        taken.extend(given.map(|(place, next)| (Place::Given(place), next)));
        taken
    }

    /// Puts back the next values that `take_set` removed.
    fn put_set(&self, taken: impl IntoIterator<Item = (Place, Tensor<'g>)>) {
        for (place, next) in taken {
            match place {
                Place::Given(place) => self.values.put_set(place, next),
                Place::Variable(name) => {
                    if let Some(entry) = self.entries.borrow_mut().get_mut(&name) {
                        entry.next = Some(next);
                    }
                }
            }
        }
    }
}
