//! Operands of elementwise operations: tensors, and Rust numbers.

use crate::Tensor;

/// An operand of an elementwise operation: a tensor, or a number, which takes the element type of the other operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'g> {
    /// A tensor.
    Tensor(Tensor<'g>),
    /// A floating-point number.
    Number(f64),
    /// An integer.
    Integer(i64),
}

impl<'g> From<Tensor<'g>> for Operand<'g> {
    fn from(tensor: Tensor<'g>) -> Self {
        Operand::Tensor(tensor)
    }
}

impl<'g> From<&Tensor<'g>> for Operand<'g> {
    fn from(tensor: &Tensor<'g>) -> Self {
        Operand::Tensor(*tensor)
    }
}

impl From<f64> for Operand<'_> {
    fn from(number: f64) -> Self {
        Operand::Number(number)
    }
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        Operand::Number(f64::from(number))
    }
}

macro_rules! integers {
    ($($int:ty),*) => {
        $(impl From<$int> for Operand<'_> {
            fn from(number: $int) -> Self {
                Operand::Integer(i64::from(number))
            }
        })*
    };
}

integers!(i32, i64, u32);

impl From<bool> for Operand<'_> {
    fn from(truth: bool) -> Self {
        Operand::Integer(i64::from(truth))
    }
}

impl Operand<'_> {
    /// Returns the number as text, for error messages; `None` for a tensor.
    pub(crate) fn number(&self) -> Option<String> {
        match self {
            Operand::Tensor(_) => None,
            Operand::Number(number) => Some(number.to_string()),
            Operand::Integer(number) => Some(number.to_string()),
        }
    }
}
