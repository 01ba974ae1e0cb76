//! Tensors in place of variables.

use std::cell::RefCell;
use std::rc::Rc;

use indexmap::IndexMap;
use shardc_graph::{DType, Tensor};

use crate::Scope;

/// A tensor that stands for a variable.
#[derive(Debug)]
pub(crate) struct Given<'g> {
    tensor: Tensor<'g>,
    /// What it becomes.
    pub(crate) next: Option<Tensor<'g>>,
    /// Whether a model has asked for it.
    is_used: bool,
}

/// The tensors of one scope by the names of the variables that they stand for.
pub(crate) type Values<'g> = Rc<RefCell<IndexMap<String, Given<'g>>>>;

/// The tensors of all scopes of a graph.
pub(crate) type AllValues<'g> = Rc<RefCell<Vec<Values<'g>>>>;

impl<'g> Scope<'g> {
    /// The same scope, in which these tensors stand for the variables of these full names: what is made in it computes with them
    /// (`torch.func.functional_call`). Of layers of a [`stack`](Scope::stack) they have the layers in front. Gradients go through them to what
    /// they are made of: teachers, target networks, means of parameters, or a step of gradient descent within a step (MAML, Finn et al.,
    /// 2017).
    ///
    /// What layers [`set`](Scope::set) these variables to is what [`Scope::next`] of this scope says, and no other variable becomes it;
    /// statistics that are not given are set as ever.
    ///
    /// Reported: two tensors for one variable; a layer asks for another shape or element type. Reported by [`Scope::finish`]: neither does a
    /// layer ask for it, nor is there such a variable.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, Tensor};
    /// # use shardc_nn::{Scope, layers::Dense};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let g = Graph::new("step", &Mesh::new(&[])?);
    /// # let (p, x, y) = (Scope::new(&g), g.parameter("x", [4, 8], F32), g.parameter("y", [4, 8], F32));
    /// fn loss<'g>(p: &Scope<'g>, x: Tensor<'g>, y: Tensor<'g>) -> Tensor<'g> {
    ///     (Dense::new(8).apply(&p.at("map"), x) - y).square().mean(..)
    /// }
    ///
    /// // The gradient of the loss that one step of gradient descent leads to.
    /// let gradients = p.gradients(loss(&p, x, y));
    /// let step = p.trainable().into_iter().zip(gradients).map(|(param, by)| (param.name, param.tensor - 0.1 * by));
    /// let adapted = p.with_values(step);
    /// let gradients = p.gradients(loss(&adapted, x, y));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_values<N: Into<String>>(&self, values: impl IntoIterator<Item = (N, Tensor<'g>)>) -> Self {
        let mut given = IndexMap::new();
        for (name, tensor) in values {
            let (name, value) = (name.into(), Given { tensor, next: None, is_used: false });
            if let Some(before) = given.insert(name.clone(), value) {
                self.graph.refuse(&[before.tensor, tensor], format!("two tensors for the variable {name:?}"));
            }
        }
        let given = Rc::new(RefCell::new(given));
        self.all_values.borrow_mut().push(Rc::clone(&given));
        let mut scope = self.clone();
        scope.values.push(given);
        scope
    }

    /// The tensor that stands for a variable of this shape and element type, if one does.
    #[track_caller]
    pub(crate) fn given(&self, name: &str, shape: &[i64], dtype: DType) -> Option<Tensor<'g>> {
        let mut values = self.given_among(name)?.borrow_mut();
        let given = values.get_mut(name)?;
        given.is_used = true;
        let have = (given.tensor.shape(), given.tensor.dtype());
        if !given.tensor.is_poisoned() && (have.0.as_slice(), have.1) != (shape, dtype) {
            let text =
                format!("the variable {name:?} is {dtype}{shape:?}, and {:?} is given for it", given.tensor);
            // Said once: the layers of a model may ask for it again.
            given.tensor = self.graph.refuse(&[given.tensor], text);
        }
        Some(given.tensor)
    }

    /// The innermost tensors among which one stands for this variable.
    pub(crate) fn given_among(&self, name: &str) -> Option<&Values<'g>> {
        self.values.iter().rev().find(|values| values.borrow().contains_key(name))
    }

    /// Says what becomes of a tensor that stands for a variable; or returns why it cannot.
    pub(crate) fn set_given(&self, name: &str, next: Tensor<'g>) -> Option<Result<(), String>> {
        let mut values = self.given_among(name)?.borrow_mut();
        let given = values.get_mut(name)?;
        let want = (given.tensor.shape(), given.tensor.dtype());
        Some(if given.tensor.is_poisoned() || want == (next.shape(), next.dtype()) {
            given.next = Some(next);
            Ok(())
        } else {
            Err(format!("the variable {name:?} is {}{:?} and becomes {next:?}", want.1, want.0))
        })
    }

    /// What is to be said of tensors for variables that there are not.
    pub(crate) fn unknown_values(&self) -> Vec<String> {
        let entries = self.entries.borrow();
        let mut texts = Vec::new();
        for values in &*self.all_values.borrow() {
            let values = values.borrow();
            let is_unknown = |name: &str, given: &Given<'_>| !given.is_used && !entries.contains_key(name);
            let unknown = values.iter().filter(|(name, given)| is_unknown(name, given));
            texts.extend(
                unknown.map(|(name, _)| {
                    format!("a tensor is given for the variable {name:?}, which there is not")
                }),
            );
        }
        texts
    }
}
