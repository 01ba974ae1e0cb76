//! # shardc-shardy: Shardy's passes by their own names
//!
//! For Shardy's test files and for those who know its passes; the compiler needs none of this. A pass here means what
//! Shardy's pass of that name means, down to the order of what it prints. The compiler's own pipeline inlines calls, and
//! knows data flow without operations.

mod canonicalize;
mod edges;
mod export;
mod import;
mod pass;
mod pipeline;
mod propagation;
mod shardings;

pub use pipeline::{find, passes};

/// Codes of warnings that are worth saying once, however many programs a file holds.
pub const SAID_ONCE: &[&str] = &[import::MANY_CALLS];
