//! Rules of a front end: derivatives of functions, composites and custom calls that are given rather than found.
//!
//! A rule is a function of the program, so that it travels with the program's text.

/// The name of the composite that hands its operands on and lets no derivative through.
pub const STOP_GRADIENT: &str = "shardc.stop_gradient";

/// How calls of a function, composites or custom calls of a name are differentiated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CustomRule {
    /// The name of the function or composite, or the target of the custom call.
    pub name: String,
    /// Its derivative.
    pub derivative: CustomDerivative,
}

/// A derivative that is given. *Changing* operands are those of floats and complex numbers, results likewise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CustomDerivative {
    /// The results count as constants.
    Nothing,
    /// A function from the operands, then a tangent for each changing operand, to the results, then a tangent for each
    /// changing result. It is linear in the tangents.
    Jvp {
        /// The function's name.
        function: String,
    },
    /// Two functions, for reverse mode only.
    Vjp {
        /// The name of the function from the operands to the results, and whatever the other one needs behind them.
        forward: String,
        /// The name of the function from what the first one returns behind the results, then a cotangent for each changing
        /// result, to a cotangent for each changing operand.
        backward: String,
    },
}
