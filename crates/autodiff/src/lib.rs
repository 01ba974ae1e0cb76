//! # shardc-autodiff: automatic differentiation
//!
//! Internal: this crate may change in any release. Front ends use `shardc::autodiff`.
//!
//! A program is differentiated in two steps, as in JAX ("You Only Linearize Once", Radul et al., POPL 2023):
//!
//! 1. `linearize` walks a function in program order and writes a *tape*: the operations that map a change of the arguments (a *tangent*)
//!    to one of the results. Each is linear in the tangents, and its coefficients are values of the function.
//! 2. `transpose` walks the tape backward. For each of its operations it writes those that map *cotangents* of the results to cotangents
//!    of the operands. The cotangent of a value is the derivative of the result by it.
//!
//! So each operation of StableHLO has one differentiation rule, and only the few linear ones have a transposition rule.
//!
//! ## Conventions
//!
//! * A tangent and a cotangent have the type of their value. Integers, truth values and tokens have none.
//! * A zero tangent is no value: zeros are symbolic and nothing is computed with them.
//! * For the cotangent `c` of a complex value `z`, the result changes by `Re(c * dz)`, without a conjugate: JAX's convention.
//!
//! This crate does no input or output, reads no environment and has no global state.

mod blocks;
mod checkpoint;
mod custom;
mod emit;
mod forward;
mod function;
mod known;
mod linearize;
mod locations;
mod places;
mod ranges;
mod replace;
mod request;
mod transpose;

pub use checkpoint::{CHECKPOINT, CHECKPOINT_NAME, Checkpoint, Keep, Offload, UnknownPolicy};
pub use custom::{CustomDerivative, CustomRule, STOP_GRADIENT};
pub use function::{differentiate, gradient_in_region};
pub use known::known_rules;
pub use request::{Derivative, Request, kept_functions};
