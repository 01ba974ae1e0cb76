//! How tensors of a graph are split over its mesh.

mod collectives;
mod loading;
mod map;
mod mark;
mod replicated;
mod rules;

pub use collectives::AxisNames;
pub use loading::ShardingSpec;
pub use rules::AxisRules;
