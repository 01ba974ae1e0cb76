//! How tensors of a graph are split over its mesh.

mod collectives;
mod map;
mod mark;
mod rules;

pub use collectives::AxisNames;
pub use rules::AxisRules;
