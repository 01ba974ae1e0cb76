//! Tensors in place of variables.

use std::cell::RefCell;
use std::rc::Rc;

use indexmap::IndexMap;
use shardc_graph::{DType, Graph, Tensor};

/// A tensor that stands for a variable.
#[derive(Debug)]
struct Given<'g> {
    tensor: Tensor<'g>,
    /// What it becomes.
    next: Option<Tensor<'g>>,
    /// Whether a model has asked for it.
    is_used: bool,
}

/// Tensors by the names of the variables that they stand for.
type Layer<'g> = Rc<RefCell<IndexMap<String, Given<'g>>>>;

/// The tensors that stand for variables in a scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'g> {
    /// Innermost last.
    own: Vec<Layer<'g>>,
    /// Those of all scopes of the graph.
    all: Rc<RefCell<Vec<Layer<'g>>>>,
}

/// Among which tensors one is, and the name of the variable that it stands for.
pub(crate) type Place = (usize, String);

impl<'g> Values<'g> {
    /// With more tensors, which hide those of the same names.
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
                graph.refuse(&[before.tensor, tensor], format!("two tensors for the variable {name:?}"));
            }
        }
        let layer = Rc::new(RefCell::new(layer));
        self.all.borrow_mut().push(Rc::clone(&layer));
        self.own.push(layer);
        self
    }

    /// The innermost tensors among which one stands for this variable.
    fn among(&self, name: &str) -> Option<&Layer<'g>> {
        self.own.iter().rev().find(|layer| layer.borrow().contains_key(name))
    }

    /// Whether a tensor stands for this variable.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.among(name).is_some()
    }

    /// The tensor that stands for a variable of this shape and element type, if one does.
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
                format!("the variable {name:?} is {dtype}{shape:?}, and {:?} is given for it", given.tensor);
            // Said once: the layers of a model may ask for it again.
            given.tensor = graph.refuse(&[given.tensor], text);
        }
        Some(given.tensor)
    }

    /// What a tensor that stands for a variable becomes, if something was said.
    pub(crate) fn next(&self, name: &str) -> Option<Tensor<'g>> {
        self.among(name)?.borrow().get(name)?.next
    }

    /// Says what a tensor that stands for a variable becomes; or returns why it cannot.
    pub(crate) fn set(&self, name: &str, next: Tensor<'g>) -> Result<(), String> {
        let Some(layer) = self.among(name) else { return Ok(()) };
        if let Some(given) = layer.borrow_mut().get_mut(name) {
            let want = (given.tensor.shape(), given.tensor.dtype());
            if !given.tensor.is_poisoned() && want != (next.shape(), next.dtype()) {
                return Err(format!("the variable {name:?} is {}{:?} and becomes {next:?}", want.1, want.0));
            }
            given.next = Some(next);
        }
        Ok(())
    }

    /// Takes away what was said in all scopes.
    pub(crate) fn take_set(&self) -> Vec<(Place, Tensor<'g>)> {
        let mut taken = Vec::new();
        for (i, layer) in self.all.borrow().iter().enumerate() {
            for (name, given) in layer.borrow_mut().iter_mut() {
                taken.extend(given.next.take().map(|next| ((i, name.clone()), next)));
            }
        }
        taken
    }

    /// Says again what was taken away.
    pub(crate) fn put_set(&self, (i, name): Place, next: Tensor<'g>) {
        if let Some(layer) = self.all.borrow().get(i)
            && let Some(given) = layer.borrow_mut().get_mut(&name)
        {
            given.next = Some(next);
        }
    }

    /// The names for which there are tensors, and that neither a model has asked for nor are known, in all scopes.
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
