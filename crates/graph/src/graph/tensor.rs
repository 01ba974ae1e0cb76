//! Handles to tensors.

use shardc_ir::{DType, ValueDef};

use super::{Graph, State};
use crate::error::ErrorKind;

/// A tensor of a [`Graph`]: a handle, cheap to copy.
///
/// Operators also accept numbers (`x * 0.5 + y`). Shapes broadcast as in NumPy; there is no implicit type promotion. An invalid operation
/// is recorded as an error, which [`Graph::finish`] returns with all others. The result of an invalid operation is a poisoned tensor;
/// further operations on a poisoned tensor report no errors.
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

    /// Returns the graph of the tensor.
    #[must_use]
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Returns the sizes of the dimensions, major to minor; empty for a poisoned tensor.
    #[must_use]
    pub fn shape(self) -> Vec<i64> {
        let state = self.graph.state.borrow();
        state.handles.get(self.id as usize).map_or(Vec::new(), |h| state.module.shape(h.value).to_vec())
    }

    /// Returns the sizes of the dimensions as an array: `let [batch, features] = x.dims();`. For a poisoned tensor, all sizes are one.
    ///
    /// Reports an error if the rank is not `N`.
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

    /// Returns the size of dimension `axis`, which counts from the last if negative; one for a poisoned tensor.
    ///
    /// Reports an error if the tensor has no such dimension.
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

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn num_elements(self) -> i64 {
        self.shape().iter().product()
    }

    /// Returns the element type; `f32` for a poisoned tensor.
    #[must_use]
    pub fn dtype(self) -> DType {
        let state = self.graph.state.borrow();
        let handle = state.handles.get(self.id as usize);
        handle.and_then(|h| state.module.tensor(h.value)).map_or(DType::F32, |ty| ty.dtype)
    }

    /// Returns whether the tensor is a parameter of the program.
    #[must_use]
    pub fn is_parameter(self) -> bool {
        let state = self.graph.state.borrow();
        let Ok(Some(values)) = state.values(self.graph, &[self]) else { return false };
        matches!(state.module.values[values[0]].def(), ValueDef::Arg(region, _) if region == state.body())
    }

    /// Returns whether the tensor is poisoned: it depends on an invalid operation.
    #[must_use]
    pub fn is_poisoned(self) -> bool {
        self.id == State::POISON
    }

    /// Names the tensor and returns it; errors and `shardc explain` show the name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.graph.name_value(self, name);
        self
    }
}

/// Formats the element type and the shape, as in `f32[8, 4]`.
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
