//! Custom derivative rules of a front end, for functions, composites and custom calls.
//!
//! A rule names functions of the program, so that derivatives are part of the program's text.

/// The composite that returns its operands and stops gradients.
pub const STOP_GRADIENT: &str = "shardc.stop_gradient";

/// The derivative rule for all calls, composites or custom calls with a given name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CustomRule {
    /// The name of the function or composite, or the target of the custom call.
    pub name: String,
    /// The derivative.
    pub derivative: CustomDerivative,
}

/// A custom derivative. *Differentiable* operands and results are floats and complex numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CustomDerivative {
    /// The derivative is zero: the results are treated as constants.
    Nothing,
    /// A function from the operands and a tangent for each differentiable operand, to the results and a tangent for each differentiable
    /// result. The function must be linear in the tangents.
    Jvp {
        /// The function's name.
        function: String,
    },
    /// Two functions, for reverse mode only.
    Vjp {
        /// The function from the operands to the results, followed by residuals.
        forward: String,
        /// The function from the residuals and a cotangent for each differentiable result, to a cotangent for each differentiable operand.
        backward: String,
    },
}
