//! # shardc-autodiff: automatic differentiation
//!
//! Internal: this crate may change in any release. Front ends use `shardc::autodiff`.
//!
//! A program is differentiated in two steps, as in JAX ("You Only Linearize Once", Radul et al., POPL 2023):
//!
//! 1. `linearize` walks a function in program order and writes a *tape*: the operations that map tangents of the arguments to tangents of
//!    the results. Each is linear in the tangents, and its coefficients are values of the function.
//! 2. `transpose` walks the tape backward. For each operation, it writes the operations that map *cotangents* of the results to
//!    cotangents of the operands. The cotangent of a value is the derivative of the function's result with respect to that value.
//!
//! So each StableHLO operation has one differentiation rule, and only the few linear operations have a transposition rule.
//!
//! ## Conventions
//!
//! * A tangent and a cotangent have the type of their value. Integers, booleans and tokens have no tangents.
//! * A zero tangent is symbolic: it has no value, and no operations are emitted for it.
//! * For the cotangent `c` of a complex value `z`, the result changes by `Re(c * dz)`, without a conjugate: JAX's convention.
//!
//! This crate does no input or output, reads no environment variables and has no global state.

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
