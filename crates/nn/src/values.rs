//! Tensors that replace variables.

use std::cell::RefCell;
use std::rc::Rc;

use indexmap::IndexMap;
use shardc_graph::{DType, Graph, Tensor};

/// A tensor that replaces a variable.
#[derive(Debug)]
struct Given<'g> {
    tensor: Tensor<'g>,
    /// The next value that a layer set, if any.
    next: Option<Tensor<'g>>,
    /// Whether a layer has requested the variable.
    is_used: bool,
}

/// Tensors by the names of the variables that they replace.
type Layer<'g> = Rc<RefCell<IndexMap<String, Given<'g>>>>;

/// The tensors that replace variables in a scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'g> {
    /// The sets of replacing tensors, innermost last.
    own: Vec<Layer<'g>>,
    /// The sets of replacing tensors of all scopes of the graph.
    all: Rc<RefCell<Vec<Layer<'g>>>>,
}

/// The index of a set of tensors, and the name of the replaced variable.
pub(crate) type Place = (usize, String);

impl<'g> Values<'g> {
    /// Adds tensors, which shadow earlier ones with the same names.
    #[track_caller]
    pub(crate) fn with(
        mut self,
        graph: &'g Graph,
        values: impl IntoIterator<Item = (String, Tensor<'g>)>,
    ) -> Self {
        let mut layer = IndexMap::new();
        for (name, tensor) in values {
            let value = Given { tensor, next: None, is_used: false };
            if let Some(before) = layer.insert(name.clone(), value) {
                graph.refuse(&[before.tensor, tensor], format!("the variable {name:?} is replaced twice"));
            }
        }
        let layer = Rc::new(RefCell::new(layer));
        self.all.borrow_mut().push(Rc::clone(&layer));
        self.own.push(layer);
        self
    }

    /// Returns the innermost set of tensors that replaces this variable.
    fn among(&self, name: &str) -> Option<&Layer<'g>> {
        self.own.iter().rev().find(|layer| layer.borrow().contains_key(name))
    }

    /// Returns whether a tensor replaces this variable.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.among(name).is_some()
    }

    /// Returns the tensor that replaces a variable of this shape and element type, if any.
    #[track_caller]
    pub(crate) fn get(
        &self,
        graph: &'g Graph,
        name: &str,
        shape: &[i64],
        dtype: DType,
    ) -> Option<Tensor<'g>> {
        let mut layer = self.among(name)?.borrow_mut();
        let given = layer.get_mut(name)?;
        given.is_used = true;
        let have = (given.tensor.shape(), given.tensor.dtype());
        if !given.tensor.is_poisoned() && (have.0.as_slice(), have.1) != (shape, dtype) {
            let text =
                format!("the variable {name:?} is {dtype}{shape:?}, but its value is {:?}", given.tensor);
            // Poisons the tensor, so that other layers that request it report no further error.
            given.tensor = graph.refuse(&[given.tensor], text);
        }
        Some(given.tensor)
    }

    /// Returns the next value of a tensor that replaces a variable, if it was set.
    pub(crate) fn next(&self, name: &str) -> Option<Tensor<'g>> {
        self.among(name)?.borrow().get(name)?.next
    }

    /// Sets the next value of a tensor that replaces a variable, or returns an error message.
    pub(crate) fn set(&self, name: &str, next: Tensor<'g>) -> Result<(), String> {
        let Some(layer) = self.among(name) else { return Ok(()) };
        if let Some(given) = layer.borrow_mut().get_mut(name) {
            let want = (given.tensor.shape(), given.tensor.dtype());
            if !given.tensor.is_poisoned() && want != (next.shape(), next.dtype()) {
                return Err(format!(
                    "the variable {name:?} is {}{:?}, but is set to {next:?}",
                    want.1, want.0
                ));
            }
            given.next = Some(next);
        }
        Ok(())
    }

    /// Removes and returns the next values that were set, in all scopes.
    pub(crate) fn take_set(&self) -> Vec<(Place, Tensor<'g>)> {
        let mut taken = Vec::new();
        for (i, layer) in self.all.borrow().iter().enumerate() {
            for (name, given) in layer.borrow_mut().iter_mut() {
                taken.extend(given.next.take().map(|next| ((i, name.clone()), next)));
            }
        }
        taken
    }

    /// Puts back the next value of a variable that was taken.
    pub(crate) fn put_set(&self, (i, name): Place, next: Tensor<'g>) {
        if let Some(layer) = self.all.borrow().get(i)
            && let Some(given) = layer.borrow_mut().get_mut(&name)
        {
            given.next = Some(next);
        }
    }

    /// Returns the names of replacing tensors, in all scopes, that no layer has requested and that name no variable.
    pub(crate) fn unknown(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let mut unknown = Vec::new();
        for layer in &*self.all.borrow() {
            let layer = layer.borrow();
            let names = layer.iter().filter(|(name, given)| !given.is_used && !is_known(name));
            unknown.extend(names.map(|(name, _)| name.clone()));
        }
        unknown
    }
}
