//! # shardc-autodiff: derivatives of programs
//!
//! Internal: this crate may change in any release. Front ends use `shardc::autodiff`.
//!
//! A program is differentiated in two steps, as JAX does it ("You Only Linearize Once", Radul et al., POPL 2023):
//!
//! 1. `linearize` walks a function in its order and writes beside it a *tape*: the operations that a small change of the
//!    arguments (a *tangent*) goes through. Each is linear in the tangents, and reads what the function computes as
//!    coefficients.
//! 2. `transpose` walks the tape backward and writes for each of its operations those that take a *cotangent*, the change of
//!    the result by a small change of a value, from its results to its operands.
//!
//! So each operation of StableHLO has one rule of differentiation, and only the linear ones among them, of which there are
//! few, have a rule of transposition.
//!
//! ## Conventions
//!
//! * A tangent and a cotangent have the type of their value. Values of integers, truth values, tokens have none.
//! * A change of nothing is no value: zeros are symbolic and nothing is computed with them.
//! * The cotangent `c` of a complex value `z` is that for which the result changes by `Re(c * dz)`, without a conjugate: JAX's
//!   convention.
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
