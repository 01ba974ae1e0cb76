//! Rewriting of programs by passes.
//!
//! A pass walks a region with a [`Rewriter`]. [`next_op`](Rewriter::next_op) returns one operation after the other. New operations are
//! inserted at the current position and get the current source location, results are replaced by other values, and erased or replaced
//! operations are removed from the region. Operations for distant positions are collected in [`Insertions`] and inserted at once.
//!
//! ## Invariants between two calls
//!
//! * An operation is in the list of at most one region, and once.
//! * [`Value::def`](crate::Value::def) of a result names its operation and index; [`renew_result`](crate::Module::renew_result),
//!   [`give_result`](crate::Module::give_result) and [`take_over`](crate::Module::take_over) of a module move results.
//! * A replaced value has no later uses: operands are replaced when operations are visited, and in nested regions when these are entered.
//!   So definitions dominate uses if the replacement was inserted before the rewriter advanced past the replaced operation.
//! * An entered region is complete again when it is left: at its last operation, or at the latest when the rewriter is dropped, so no
//!   operation is lost on errors. Until then, its list reads as empty.
//!
//! The structural checks of [`verify()`](crate::verify()) (I2 to I5) check that a pass preserves these invariants.

mod clone;
mod counts;
mod cursor;
mod insertions;
mod map;
mod transplant;

pub use clone::{clone_op, clone_region};
pub use counts::UseCounts;
pub use cursor::{Checkpoint, Rewriter};
pub use insertions::{InsertionPoint, Insertions};
pub use map::ValueMap;
pub use transplant::transplant_func;
