//! Handles of tensors.

use shardc_ir::{DType, ValueDef};

use super::{Graph, State};
use crate::error::ErrorKind;

/// A tensor of a [`Graph`]: a handle, cheap to copy.
///
/// Numbers and operators work on it (`x * 0.5 + y`), shapes broadcast as NumPy's do, element types never change by themselves.
/// A method that does not fit reports an error, which [`Graph::finish`] returns with all others, and gives a tensor that
/// stands for nothing: whatever is made of that reports nothing more.
#[derive(Clone, Copy)]
pub struct Tensor<'g> {
    graph: &'g Graph,
    id: u32,
}

impl<'g> Tensor<'g> {
    pub(crate) fn new(graph: &'g Graph, id: u32) -> Self {
        Tensor { graph, id }
    }

    pub(crate) fn id(self) -> u32 {
        self.id
    }

    pub(crate) fn is_of(self, graph: &Graph) -> bool {
        std::ptr::eq(self.graph, graph)
    }

    /// The graph that the tensor is of.
    #[must_use]
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Sizes of its dimensions, major to minor; none for a tensor that stands for nothing.
    #[must_use]
    pub fn shape(self) -> Vec<i64> {
        let state = self.graph.state.borrow();
        state.handles.get(self.id as usize).map_or(Vec::new(), |h| state.module.shape(h.value).to_vec())
    }

    /// Sizes of its dimensions, as many as are asked for: `let [batch, features] = x.dims();`. A tensor that stands for nothing
    /// has sizes of one.
    ///
    /// Reported: it has more or fewer dimensions.
    #[must_use]
    #[track_caller]
    pub fn dims<const N: usize>(self) -> [i64; N] {
        let shape = self.shape();
        match <[i64; N]>::try_from(shape.as_slice()) {
            Ok(dims) => dims,
            Err(_) => {
                if !self.is_poisoned() {
                    self.graph.report(&[self], ErrorKind::Rank { want: N, shape });
                }
                [1; N]
            }
        }
    }

    /// Size of dimension `axis`, counted from the last where negative; one for a tensor that stands for nothing.
    ///
    /// Reported: it has no such dimension.
    #[must_use]
    #[track_caller]
    pub fn size(self, axis: i64) -> i64 {
        if self.is_poisoned() {
            return 1;
        }
        let shape = self.shape();
        match crate::axes::one("size", axis, &shape) {
            Ok(dim) => shape[dim],
            Err(kind) => {
                self.graph.report(&[self], kind);
                1
            }
        }
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// Number of elements.
    #[must_use]
    pub fn num_elements(self) -> i64 {
        self.shape().iter().product()
    }

    /// Element type; `f32` for a tensor that stands for nothing.
    #[must_use]
    pub fn dtype(self) -> DType {
        let state = self.graph.state.borrow();
        let handle = state.handles.get(self.id as usize);
        handle.and_then(|h| state.module.tensor(h.value)).map_or(DType::F32, |ty| ty.dtype)
    }

    /// Whether it is a parameter of the program, and nothing that is computed.
    #[must_use]
    pub fn is_parameter(self) -> bool {
        let state = self.graph.state.borrow();
        let Ok(Some(values)) = state.values(self.graph, &[self]) else { return false };
        matches!(state.module.values[values[0]].def(), ValueDef::Arg(region, _) if region == state.body())
    }

    /// Whether it stands for nothing, because an operation that it is made of does not fit.
    #[must_use]
    pub fn is_poisoned(self) -> bool {
        self.id == State::POISON
    }

    /// The same tensor by a name, which errors and `shardc explain` show.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.graph.name_value(self, name);
        self
    }
}

/// `f32[8, 4]`.
impl std::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_poisoned() {
            return f.write_str("poisoned");
        }
        write!(f, "{}{:?}", self.dtype(), self.shape())
    }
}

impl<'g> From<&Tensor<'g>> for Tensor<'g> {
    fn from(tensor: &Tensor<'g>) -> Self {
        *tensor
    }
}
