//! Units: parts of a model that a gradient computes again.

use shardc_graph::{Tensor, Tree};

use crate::{Scope, values};

/// What was said to become something.
enum Place {
    Variable(String),
    Given(values::Place),
}

impl<'g> Scope<'g> {
    /// What `body` makes of `inputs` in the scope of this name below this one, as a unit: with [`Scope::checkpointed`] it is computed
    /// again where the backward part reads what is in it.
    #[track_caller]
    pub fn unit<I: Tree<'g>, O: Tree<'g>>(
        &self,
        name: impl AsRef<str>,
        inputs: I,
        body: impl FnOnce(&Scope<'g>, I) -> O,
    ) -> O {
        self.at(name).remembered(inputs, body)
    }

    /// What `body` makes of `inputs`, of which a gradient keeps what is said.
    #[track_caller]
    pub(crate) fn remembered<I: Tree<'g>, O: Tree<'g>>(
        &self,
        inputs: I,
        body: impl FnOnce(&Scope<'g>, I) -> O,
    ) -> O {
        // Units within are units of their own.
        let Some(policy) = self.checkpoint.clone() else { return body(self, inputs) };
        let before = self.take_set();
        let mut places = Vec::new();
        // What the body sets variables to comes out of it, too.
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

    /// Takes away what was said that variables become, and tensors that stand for some.
    fn take_set(&self) -> Vec<(Place, Tensor<'g>)> {
        let mut taken = Vec::new();
        for (name, entry) in self.entries.borrow_mut().iter_mut() {
            taken.extend(entry.next.take().map(|next| (Place::Variable(name.clone()), next)));
        }
        let given = self.values.take_set().into_iter();
        taken.extend(given.map(|(place, next)| (Place::Given(place), next)));
        taken
    }

    /// Says again what was taken away.
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
