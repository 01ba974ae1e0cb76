//! Elementwise operations.

use shardc_ir::{BinaryOp, CompareDirection, DType, OpKind, TensorType, UnaryOp, ValueId};

use crate::error::Here;
use crate::graph::Result;
use crate::{ErrorKind, Graph, Tensor, number};

/// An operand of an elementwise operation: a tensor, or a number that stands for a tensor full of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// A number, of the element type of the tensor beside it.
    Number(f64),
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Self {
        Operand::Tensor(tensor)
    }
}

impl From<f64> for Operand {
    fn from(number: f64) -> Self {
        Operand::Number(number)
    }
}

impl From<f32> for Operand {
    fn from(number: f32) -> Self {
        Operand::Number(f64::from(number))
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Operand::Number(f64::from(number))
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident => $op:ident,)*) => {
        impl Graph {
            $($(#[$doc])*
            ///
            /// # Errors
            /// The operation does not take elements of this type.
            #[track_caller]
            pub fn $name(&mut self, x: Tensor) -> Result<Tensor> {
                self.unary(UnaryOp::$op, x)
            })*
        }
    };
}

unary! {
    /// Absolute value.
    abs => Abs,
    /// The next whole number above.
    ceil => Ceil,
    /// Cosine.
    cos => Cosine,
    /// `e` to the power of each element.
    exp => Exponential,
    /// The next whole number below.
    floor => Floor,
    /// Natural logarithm.
    log => Log,
    /// Natural logarithm of `1 + x`.
    log1p => LogPlusOne,
    /// `1 / (1 + exp(-x))`.
    logistic => Logistic,
    /// `-x`.
    neg => Negate,
    /// Logical or bitwise not.
    not => Not,
    /// `1 / sqrt(x)`.
    rsqrt => Rsqrt,
    /// `-1`, `0` or `1`.
    sign => Sign,
    /// Sine.
    sin => Sine,
    /// Square root.
    sqrt => Sqrt,
    /// Hyperbolic tangent.
    tanh => Tanh,
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:ident,)*) => {
        impl Graph {
            $($(#[$doc])*
            ///
            /// # Errors
            /// The operands differ in shape or element type, or the operation does not take elements of it.
            #[track_caller]
            pub fn $name(&mut self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Tensor> {
                self.binary(BinaryOp::$op, x.into(), y.into())
            })*
        }
    };
}

binary! {
    /// `x + y`; logical or for `i1`.
    add => Add,
    /// Logical or bitwise and.
    and => And,
    /// `x / y`.
    div => Divide,
    /// The larger of both.
    max => Maximum,
    /// The smaller of both.
    min => Minimum,
    /// `x * y`; logical and for `i1`.
    mul => Multiply,
    /// Logical or bitwise or.
    or => Or,
    /// `x` to the power of `y`.
    pow => Power,
    /// The remainder of `x / y`, with the sign of `x`.
    rem => Remainder,
    /// `x - y`.
    sub => Subtract,
    /// Logical or bitwise exclusive or.
    xor => Xor,
}

macro_rules! comparison {
    ($($(#[$doc:meta])* $name:ident => $op:ident,)*) => {
        impl Graph {
            $($(#[$doc])*
            ///
            /// # Errors
            /// The operands differ in shape or element type.
            #[track_caller]
            pub fn $name(&mut self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Tensor> {
                self.compare(CompareDirection::$op, x, y)
            })*
        }
    };
}

comparison! {
    /// Where `x == y`.
    eq => EQ,
    /// Where `x != y`.
    ne => NE,
    /// Where `x < y`.
    lt => LT,
    /// Where `x <= y`.
    le => LE,
    /// Where `x > y`.
    gt => GT,
    /// Where `x >= y`.
    ge => GE,
}

impl Graph {
    /// Any elementwise operation on one tensor.
    ///
    /// # Errors
    /// The operation does not take elements of this type.
    #[track_caller]
    pub fn unary(&mut self, op: UnaryOp, x: Tensor) -> Result<Tensor> {
        let x = self.value(x).here()?;
        self.infer(OpKind::Unary(op), &[x], &[])
    }

    /// Any elementwise operation on two tensors of one type; one of them may be a number or a scalar.
    ///
    /// # Errors
    /// The operands differ in shape or element type, or the operation does not take elements of it.
    #[track_caller]
    pub fn binary(&mut self, op: BinaryOp, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Tensor> {
        let name = op.name().rsplit('.').next().unwrap_or_default();
        let (operands, _) = self.matched(name, x.into(), y.into())?;
        self.infer(OpKind::Binary(op), &operands, &[])
    }

    /// Elementwise comparison; the result has elements of type `i1`.
    ///
    /// # Errors
    /// The operands differ in shape or element type.
    #[track_caller]
    pub fn compare(
        &mut self,
        direction: CompareDirection,
        x: impl Into<Operand>,
        y: impl Into<Operand>,
    ) -> Result<Tensor> {
        let (operands, _) = self.matched("compare", x.into(), y.into())?;
        self.infer(OpKind::Compare(direction, None), &operands, &[])
    }

    /// `on_true` where the predicate holds, else `on_false`. The predicate has their shape or is a scalar.
    ///
    /// # Errors
    /// The predicate is not of type `i1`, or the shapes or element types differ.
    #[track_caller]
    pub fn select(
        &mut self,
        predicate: Tensor,
        on_true: impl Into<Operand>,
        on_false: impl Into<Operand>,
    ) -> Result<Tensor> {
        let ([on_true, on_false], want) = self.matched("select", on_true.into(), on_false.into())?;
        let pred = self.tensor(predicate).here()?;
        if pred.dtype != DType::I1 {
            let message =
                format!("the predicate of select has to have elements of type i1, not {}", pred.dtype);
            return Err(ErrorKind::Operands(message).here());
        }
        if pred.rank() != 0 && pred.shape != want.shape {
            let (left, right) = (pred.shape.to_vec(), want.shape.to_vec());
            return Err(ErrorKind::Shapes { op: "select", left, right }.here());
        }
        let predicate = self.value(predicate).here()?;
        self.infer(OpKind::Select, &[predicate, on_true, on_false], &[])
    }

    /// Each element, but at least `low` and at most `high`.
    ///
    /// # Errors
    /// The bounds are neither numbers nor scalars nor of the tensor's shape, or the element types differ.
    #[track_caller]
    pub fn clamp(&mut self, low: impl Into<Operand>, x: Tensor, high: impl Into<Operand>) -> Result<Tensor> {
        let raised = self.binary(BinaryOp::Maximum, x, low)?;
        self.binary(BinaryOp::Minimum, raised, high)
    }

    /// The larger of each element and zero.
    ///
    /// # Errors
    /// The tensor belongs to another graph.
    #[track_caller]
    pub fn relu(&mut self, x: Tensor) -> Result<Tensor> {
        self.binary(BinaryOp::Maximum, x, 0.0)
    }

    /// Returns the elements of a tensor converted to another element type.
    ///
    /// # Errors
    /// The tensor belongs to another graph.
    #[track_caller]
    pub fn convert(&mut self, x: Tensor, dtype: DType) -> Result<Tensor> {
        let value = self.value(x).here()?;
        let from = self.tensor(x).here()?;
        if from.dtype == dtype {
            return Ok(x);
        }
        let shape = from.shape.clone();
        let ty = self.module_mut().types.tensor(&shape, dtype);
        Ok(self.push(OpKind::Convert, &[value], ty, &[]))
    }

    /// Two operands as tensors of one type, and the type.
    #[track_caller]
    fn matched(&mut self, op: &'static str, x: Operand, y: Operand) -> Result<([ValueId; 2], TensorType)> {
        let type_of = |operand: Operand| match operand {
            Operand::Tensor(tensor) => self.tensor(tensor).cloned().map(Some),
            Operand::Number(_) => Ok(None),
        };
        let want = match (type_of(x).here()?, type_of(y).here()?) {
            (Some(x), Some(y)) => {
                if x.dtype != y.dtype {
                    return Err(ErrorKind::DTypes { op, left: x.dtype, right: y.dtype }.here());
                }
                if x.shape != y.shape && x.rank() != 0 && y.rank() != 0 {
                    let (left, right) = (x.shape.to_vec(), y.shape.to_vec());
                    return Err(ErrorKind::Shapes { op, left, right }.here());
                }
                if x.rank() == 0 { y } else { x }
            }
            (Some(ty), None) | (None, Some(ty)) => ty,
            (None, None) => {
                let message = format!("{op} of two numbers: one operand has to be a tensor");
                return Err(ErrorKind::Operands(message).here());
            }
        };
        Ok(([self.filled(x, &want)?, self.filled(y, &want)?], want))
    }

    /// An operand as a tensor of this type, which differs at most in being a scalar.
    #[track_caller]
    fn filled(&mut self, operand: Operand, want: &TensorType) -> Result<ValueId> {
        let tensor = match operand {
            Operand::Number(number) => match number::encode(want.dtype, number) {
                Some(bytes) => self.splat(&bytes, &want.shape, want.dtype),
                None => {
                    return Err(ErrorKind::Number { number: number.to_string(), dtype: want.dtype }.here());
                }
            },
            Operand::Tensor(tensor) => {
                let scalar = self.tensor(tensor).here()?.rank() == 0;
                if scalar && want.rank() != 0 {
                    self.broadcast_in_dim(tensor, &want.shape, &[])?
                } else {
                    tensor
                }
            }
        };
        self.value(tensor).here()
    }
}
