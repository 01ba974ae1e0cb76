//! The pass driver: the table of passes with their preconditions, the pipeline, and partitioning with its choice between
//! propagation strategies.

mod attempts;
pub mod calls;
pub mod context;
pub mod entry;
mod import;
mod interface;
mod link;
pub mod partition;
pub mod pass_options;
pub mod passes;
pub mod pipeline;
pub(crate) mod preconditions;
mod repeated;
pub(crate) mod replicated;
pub mod specialize;
pub mod strategy;
mod symbolic;
