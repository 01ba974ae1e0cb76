//! # shardc-shardy: Shardy's passes, by Shardy's names
//!
//! These passes are for Shardy's test files and for users who know Shardy; the compiler does not need them. A pass has the
//! semantics of the Shardy pass with its name, and prints operations in the same order. The compiler's own pipeline inlines
//! calls instead, and propagates through regions without data-flow edge operations.

mod canonicalize;
mod edges;
mod export;
mod import;
mod pass;
mod pipeline;
mod propagation;
mod shardings;

pub use pipeline::{find, passes};

/// Codes of warnings that are printed once for all programs of a file.
pub const REPORTED_ONCE: &[&str] = &[import::MANY_CALLS];
