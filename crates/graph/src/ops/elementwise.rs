//! Elementwise operations.

use shardc_ir::{BinaryOp, CompareDirection, CompareType, DType, DTypeClass, OpKind, UnaryOp};

use crate::error::ErrorKind;
use crate::graph::Graph;
use crate::ops::broadcast::{broadcast_to, common_shape, together};
use crate::{Operand, Tensor};

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $dtype:ident => $op:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::", stringify!($dtype), ");\n",
                "assert_eq!(x.", stringify!($name), "().shape(), [2, 3]);\n```"
            )]
            ///
            /// Reports an error if the operation does not support the element type.
            #[must_use]
            #[track_caller]
            pub fn $name(self) -> Tensor<'g> {
                self.unary(UnaryOp::$op)
            })*
        }
    };
}

unary! {
    /// Absolute value.
    abs F32 => Abs,
    /// Arc cosine.
    acos F32 => Acos,
    /// Arc sine.
    asin F32 => Asin,
    /// Arc tangent.
    atan F32 => Atan,
    /// Cube root.
    cbrt F32 => Cbrt,
    /// Rounds up.
    ceil F32 => Ceil,
    /// Cosine.
    cos F32 => Cosine,
    /// Hyperbolic cosine.
    cosh F32 => Cosh,
    /// The error function.
    erf F32 => Erf,
    /// The inverse of the error function.
    erf_inv F32 => ErfInv,
    /// The complementary error function, `1 - erf(x)`.
    erfc F32 => Erfc,
    /// `e` to the power of each element.
    exp F32 => Exponential,
    /// `exp(x) - 1`, accurate for small `x`.
    expm1 F32 => ExponentialMinusOne,
    /// Rounds down.
    floor F32 => Floor,
    /// Whether an element is neither infinite nor NaN.
    is_finite F32 => IsFinite,
    /// The logarithm of the absolute value of the gamma function.
    lgamma F32 => Lgamma,
    /// Natural logarithm.
    log F32 => Log,
    /// `log(1 + x)`, accurate for small `x`.
    log1p F32 => LogPlusOne,
    /// `1 / (1 + exp(-x))`, the sigmoid.
    logistic F32 => Logistic,
    /// Rounds to the nearest integer, ties to even.
    round F32 => RoundNearestEven,
    /// `1 / sqrt(x)`.
    rsqrt F32 => Rsqrt,
    /// `-1`, `0` or `1`.
    sign F32 => Sign,
    /// Sine.
    sin F32 => Sine,
    /// Hyperbolic sine.
    sinh F32 => Sinh,
    /// Square root.
    sqrt F32 => Sqrt,
    /// Tangent.
    tan F32 => Tan,
    /// Hyperbolic tangent.
    tanh F32 => Tanh,
    /// The real part of complex numbers.
    real C64 => Real,
    /// The imaginary part of complex numbers.
    imag C64 => Imag,
    /// Number of set bits.
    popcnt I32 => Popcnt,
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $dtype:ident => $op:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::", stringify!($dtype), ");\n",
                "let y = g.parameter(\"y\", [2, 3], DType::", stringify!($dtype), ");\n",
                "assert_eq!(x.", stringify!($name), "(y).shape(), [2, 3]);\n```"
            )]
            ///
            /// Reports an error if the shapes do not broadcast, the element types differ, or the operation does not support the element
            /// type.
            #[must_use]
            #[track_caller]
            pub fn $name(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
                self.graph().binary(BinaryOp::$op, self, y)
            })*
        }
    };
}

binary! {
    /// The two-argument arc tangent `atan2(self, y)`.
    atan2 F32 => Atan2,
    /// Elementwise maximum.
    max F32 => Maximum,
    /// Elementwise minimum.
    min F32 => Minimum,
    /// `x` to the power of `y`.
    pow F32 => Power,
    /// `x` with its bits shifted left by `y`.
    shift_left I32 => ShiftLeft,
    /// `x` with its bits shifted right by `y`, with sign extension.
    shift_right_arithmetic I32 => ShiftRightArithmetic,
    /// `x` with its bits shifted right by `y`, with zero fill.
    shift_right_logical I32 => ShiftRightLogical,
}

macro_rules! comparison {
    ($($(#[$doc:meta])* $name:ident $dtype:ident => $op:ident,)*) => {
        impl<'g> Tensor<'g> {
            $($(#[$doc])*
            ///
            #[doc = concat!(
                "```\n# use shardc_graph::{DType, Graph, Mesh};\n",
                "# let g = Graph::new(\"step\", &Mesh::new(&[(\"x\", 1)]).unwrap());\n",
                "let x = g.parameter(\"x\", [2, 3], DType::", stringify!($dtype), ");\n",
                "let y = g.parameter(\"y\", [2, 3], DType::", stringify!($dtype), ");\n",
                "assert_eq!(x.", stringify!($name), "(y).shape(), [2, 3]);\n```"
            )]
            ///
            /// The result has elements of type `i1`.
            ///
            /// Reports an error if the shapes do not broadcast or the element types differ.
            #[must_use]
            #[track_caller]
            pub fn $name(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
                self.graph().compare(CompareDirection::$op, self, y)
            })*
        }
    };
}

comparison! {
    /// Whether `x == y`.
    eq F32 => EQ,
    /// Whether `x != y`.
    ne F32 => NE,
    /// Whether `x < y`.
    lt F32 => LT,
    /// Whether `x <= y`.
    le F32 => LE,
    /// Whether `x > y`.
    gt F32 => GT,
    /// Whether `x >= y`.
    ge F32 => GE,
}

/// Returns the tensors among operands.
fn tensors<'g>(operands: &[Operand<'g>]) -> Vec<Tensor<'g>> {
    let tensor = |operand: &Operand<'g>| match operand {
        Operand::Tensor(tensor) => Some(*tensor),
        Operand::Number(_) | Operand::Integer(_) => None,
    };
    operands.iter().filter_map(tensor).collect()
}

impl Graph {
    /// Applies any elementwise operation to two tensors of one element type; one operand may be a number.
    ///
    /// ```
    /// # use shardc_graph::{BinaryOp, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(g.binary(BinaryOp::Add, x, y).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast, the element types differ, or the operation does not support the element type.
    #[track_caller]
    pub fn binary<'g>(
        &'g self,
        op: BinaryOp,
        x: impl Into<Operand<'g>>,
        y: impl Into<Operand<'g>>,
    ) -> Tensor<'g> {
        let operands = [x.into(), y.into()];
        let name = short(op.name());
        self.make(&tensors(&operands), |m, values| {
            let operands = together(m, name, &operands, values)?;
            m.infer(OpKind::Binary(op), &operands, &[])
        })
    }

    /// Elementwise comparison; the result has elements of type `i1`.
    ///
    /// ```
    /// # use shardc_graph::{CompareDirection, DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(g.compare(CompareDirection::GT, x, 0.0).dtype(), DType::I1);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast or the element types differ.
    #[track_caller]
    pub fn compare<'g>(
        &'g self,
        direction: CompareDirection,
        x: impl Into<Operand<'g>>,
        y: impl Into<Operand<'g>>,
    ) -> Tensor<'g> {
        let operands = [x.into(), y.into()];
        self.make(&tensors(&operands), |m, values| {
            let operands = together(m, "compare", &operands, values)?;
            let how = CompareType::of_integers(m.dtype_of(operands[0]));
            m.infer(OpKind::Compare(direction, how), &operands, &[])
        })
    }

    /// Complex numbers from real and imaginary parts.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(g.complex(x, y).dtype(), DType::C64);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast, or the parts are not both `f32` or `f64`.
    #[track_caller]
    pub fn complex<'g>(&'g self, real: impl Into<Operand<'g>>, imag: impl Into<Operand<'g>>) -> Tensor<'g> {
        self.binary(BinaryOp::Complex, real, imag)
    }
}

/// Returns the name of an operation without its dialect.
fn short(name: &'static str) -> &'static str {
    name.rsplit('.').next().unwrap_or(name)
}

impl<'g> Tensor<'g> {
    /// Applies any elementwise operation to one tensor.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh, UnaryOp};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.unary(UnaryOp::Tanh).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the operation does not support the element type.
    #[must_use]
    #[track_caller]
    pub fn unary(self, op: UnaryOp) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| m.infer(OpKind::Unary(op), values, &[]))
    }

    /// `x * x`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.square().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is `i1`.
    #[must_use]
    #[track_caller]
    pub fn square(self) -> Tensor<'g> {
        self.graph().binary(BinaryOp::Multiply, self, self)
    }

    /// `1 / x`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.reciprocal().shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the element type is `i1`.
    #[must_use]
    #[track_caller]
    pub fn reciprocal(self) -> Tensor<'g> {
        self.graph().binary(BinaryOp::Divide, 1, self)
    }

    /// Returns the remainder of division by `y`, with the sign of `y`: `numpy.mod`. The operator `%` takes the sign of this tensor.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.modulo(2.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast, the element types differ, or the element type is `i1`.
    #[must_use]
    #[track_caller]
    pub fn modulo(self, y: impl Into<Operand<'g>>) -> Tensor<'g> {
        let y = y.into();
        let rest = self % y;
        if !self.is_poisoned() && self.dtype().class() == DTypeClass::Unsigned {
            return rest;
        }
        rest.is_beyond(y).select(rest + y, rest)
    }

    /// Returns whether this remainder is nonzero and differs in sign from the divisor `y`.
    #[track_caller]
    pub(super) fn is_beyond(self, y: Operand<'g>) -> Tensor<'g> {
        match y {
            Operand::Tensor(y) => self.lt(0).ne(y.lt(0)) & self.ne(0),
            Operand::Number(y) if y < 0.0 => self.gt(0),
            Operand::Integer(y) if y < 0 => self.gt(0),
            Operand::Number(_) | Operand::Integer(_) => self.lt(0),
        }
    }

    /// `on_true` where this tensor is true, else `on_false`: `mask.select(a, b)`. Shapes broadcast.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// let y = g.parameter("y", [2, 3], F32);
    /// assert_eq!(x.gt(y).select(x, y).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if this tensor is not of type `i1`, the shapes do not match, or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn select(self, on_true: impl Into<Operand<'g>>, on_false: impl Into<Operand<'g>>) -> Tensor<'g> {
        let operands = [on_true.into(), on_false.into()];
        let mut all = vec![self];
        all.extend(tensors(&operands));
        self.graph().make(&all, |m, values| {
            let (predicate, values) = (values[0], &values[1..]);
            if m.dtype_of(predicate) != DType::I1 {
                let ty = m.dtype_of(predicate);
                return Err(ErrorKind::Operands(format!(
                    "the predicate of select must have type i1, got {ty}"
                )));
            }
            let mut shape = m.shape_of(predicate);
            for &value in values {
                shape = common_shape("select", &shape, &m.shape_of(value))?;
            }
            let operands = match values {
                [] => {
                    return Err(ErrorKind::Operands(
                        "select of two numbers has no element type: pass a tensor for one of them".to_owned(),
                    ));
                }
                _ => together(m, "select", &operands, values)?,
            };
            let mut spread = vec![broadcast_to(m, "select", predicate, &shape)?];
            for value in operands {
                spread.push(broadcast_to(m, "select", value, &shape)?);
            }
            m.infer(OpKind::Select, &spread, &[])
        })
    }

    /// Clamps to the range from `low` to `high`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.clamp(0.0, 1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not broadcast or the element types differ.
    #[must_use]
    #[track_caller]
    pub fn clamp(self, low: impl Into<Operand<'g>>, high: impl Into<Operand<'g>>) -> Tensor<'g> {
        let operands = [low.into(), Operand::Tensor(self), high.into()];
        self.graph().make(&tensors(&operands), |m, values| {
            let values = together(m, "clamp", &operands, values)?;
            m.infer(OpKind::Clamp, &values, &[])
        })
    }

    /// Converts to element type `dtype`: floats are rounded, or truncated to integers; as `i1`, nonzero numbers become true.
    ///
    /// ```
    /// # use shardc_graph::{DType, DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.to(DType::BF16).dtype(), DType::BF16);
    /// ```
    ///
    /// Reports an error if the conversion is not supported.
    #[must_use]
    #[track_caller]
    pub fn to(self, dtype: DType) -> Tensor<'g> {
        if self.dtype() == dtype {
            return self;
        }
        self.graph().make(&[self], |m, values| {
            let shape = m.shape_of(values[0]);
            m.typed(OpKind::Convert, values, &shape, dtype)
        })
    }

    /// Creates a tensor of the same shape and type, filled with `number`.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.full_like(1.0).shape(), [2, 3]);
    /// ```
    ///
    /// Reports an error if the type cannot represent the number.
    #[must_use]
    #[track_caller]
    pub fn full_like(self, number: f64) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let (shape, dtype) = (m.shape_of(values[0]), m.dtype_of(values[0]));
            m.filled(number, &shape, dtype)
        })
    }

    /// Creates a tensor of the same shape and type, filled with zeros.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.zeros_like().shape(), [2, 3]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn zeros_like(self) -> Tensor<'g> {
        self.full_like(0.0)
    }

    /// Broadcasts to a shape, aligned at the last dimensions.
    ///
    /// ```
    /// # use shardc_graph::{DType::F32, Graph, Mesh};
    /// # let g = Graph::new("step", &Mesh::new(&[("x", 1)]).unwrap());
    /// let x = g.parameter("x", [2, 3], F32);
    /// assert_eq!(x.broadcast_to([4, 2, 3]).shape(), [4, 2, 3]);
    /// ```
    ///
    /// Reports an error if the shapes do not match.
    #[must_use]
    #[track_caller]
    pub fn broadcast_to(self, shape: impl crate::IntoShape) -> Tensor<'g> {
        let shape = shape.into_shape();
        self.graph().make(&[self], |m, values| broadcast_to(m, "broadcast_to", values[0], &shape))
    }
}
