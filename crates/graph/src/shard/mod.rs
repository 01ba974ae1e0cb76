//! Shardings of a graph's tensors.

mod collectives;
mod loading;
mod map;
mod mark;
mod replicated;
mod rules;

pub use collectives::AxisNames;
pub use loading::ShardingSpec;
pub use rules::AxisRules;
