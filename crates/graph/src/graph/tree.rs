//! Pytrees: nested tuples, arrays, vectors and options of tensors.

use super::Tensor;

/// A pytree of tensors, for loop-carried values and gradients: a [`Tensor`], `()`, or a tuple, array, vector or option of pytrees.
///
/// To implement this trait for a struct, list the fields of the struct in the same order in both methods.
pub trait Tree<'g>: Sized {
    /// Appends the tensors, in order.
    fn flatten(&self, leaves: &mut Vec<Tensor<'g>>);

    /// Returns this structure with other tensors, taken in order.
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self;

    /// Returns the tensors, in order.
    fn leaves(&self) -> Vec<Tensor<'g>> {
        let mut leaves = Vec::new();
        self.flatten(&mut leaves);
        leaves
    }

    /// Returns this structure with other tensors, in order; if there are too few, the remaining tensors are unchanged.
    #[must_use]
    fn rebuilt(&self, leaves: &[Tensor<'g>]) -> Self {
        self.with_leaves(&mut leaves.iter().copied())
    }

    /// Returns this structure, with a function applied to each tensor.
    #[must_use]
    fn map(&self, each: impl FnMut(Tensor<'g>) -> Tensor<'g>) -> Self {
        self.with_leaves(&mut self.leaves().into_iter().map(each))
    }
}

impl<'g> Tree<'g> for Tensor<'g> {
    fn flatten(&self, leaves: &mut Vec<Tensor<'g>>) {
        leaves.push(*self);
    }

    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {
        leaves.next().unwrap_or(*self)
    }
}

impl<'g> Tree<'g> for () {
    fn flatten(&self, _leaves: &mut Vec<Tensor<'g>>) {}

    fn with_leaves(&self, _leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {}
}

impl<'g, T: Tree<'g>> Tree<'g> for Vec<T> {
    fn flatten(&self, leaves: &mut Vec<Tensor<'g>>) {
        self.iter().for_each(|item| item.flatten(leaves));
    }

    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {
        self.iter().map(|item| item.with_leaves(leaves)).collect()
    }
}

impl<'g, T: Tree<'g>> Tree<'g> for Option<T> {
    fn flatten(&self, leaves: &mut Vec<Tensor<'g>>) {
        self.iter().for_each(|item| item.flatten(leaves));
    }

    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {
        self.as_ref().map(|item| item.with_leaves(leaves))
    }
}

impl<'g, T: Tree<'g>, const N: usize> Tree<'g> for [T; N] {
    fn flatten(&self, leaves: &mut Vec<Tensor<'g>>) {
        self.iter().for_each(|item| item.flatten(leaves));
    }

    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {
        self.each_ref().map(|item| item.with_leaves(leaves))
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+);)*) => {
        $(impl<'g, $($name: Tree<'g>),+> Tree<'g> for ($($name,)+) {
            fn flatten(&self, leaves: &mut Vec<Tensor<'g>>) {
                $(self.$index.flatten(leaves);)+
            }

            fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Tensor<'g>>) -> Self {
                ($(self.$index.with_leaves(leaves),)+)
            }
        })*
    };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}
