//! Rust's operators on tensors, references to tensors and numbers.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use shardc_ir::{BinaryOp, UnaryOp};

use crate::{Operand, Tensor};

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident;)*) => {
        $(impl<'g, Y: Into<Operand<'g>>> $trait<Y> for Tensor<'g> {
            type Output = Tensor<'g>;

            #[track_caller]
            fn $method(self, y: Y) -> Tensor<'g> {
                self.graph().binary(BinaryOp::$op, self, y)
            }
        }

        impl<'g, Y: Into<Operand<'g>>> $trait<Y> for &Tensor<'g> {
            type Output = Tensor<'g>;

            #[track_caller]
            fn $method(self, y: Y) -> Tensor<'g> {
                self.graph().binary(BinaryOp::$op, *self, y)
            }
        }

        operator!(numbers $trait $method $op: f64, f32, i32, i64);)*
    };
    (numbers $trait:ident $method:ident $op:ident: $($number:ty),*) => {
        $(impl<'g> $trait<Tensor<'g>> for $number {
            type Output = Tensor<'g>;

            #[track_caller]
            fn $method(self, y: Tensor<'g>) -> Tensor<'g> {
                y.graph().binary(BinaryOp::$op, self, y)
            }
        }

        impl<'g> $trait<&Tensor<'g>> for $number {
            type Output = Tensor<'g>;

            #[track_caller]
            fn $method(self, y: &Tensor<'g>) -> Tensor<'g> {
                y.graph().binary(BinaryOp::$op, self, *y)
            }
        })*
    };
}

operator! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
    Rem rem Remainder;
}

macro_rules! logical {
    ($($trait:ident $method:ident $op:ident;)*) => {
        $(impl<'g, Y: Into<Operand<'g>>> $trait<Y> for Tensor<'g> {
            type Output = Tensor<'g>;

            #[track_caller]
            fn $method(self, y: Y) -> Tensor<'g> {
                self.graph().binary(BinaryOp::$op, self, y)
            }
        })*
    };
}

logical! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

impl<'g> Neg for Tensor<'g> {
    type Output = Tensor<'g>;

    #[track_caller]
    fn neg(self) -> Tensor<'g> {
        self.unary(UnaryOp::Negate)
    }
}

impl<'g> Neg for &Tensor<'g> {
    type Output = Tensor<'g>;

    #[track_caller]
    fn neg(self) -> Tensor<'g> {
        self.unary(UnaryOp::Negate)
    }
}

impl<'g> Not for Tensor<'g> {
    type Output = Tensor<'g>;

    #[track_caller]
    fn not(self) -> Tensor<'g> {
        self.unary(UnaryOp::Not)
    }
}
