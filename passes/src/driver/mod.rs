//! The order of passes: the table of them all, what each asks of the module that it is given, and the whole of
//! partitioning with its choice between strategies.

pub mod calls;
pub mod context;
pub mod entry;
mod import;
mod interface;
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
