//! How tensors of a graph are split over its mesh.

mod collectives;
mod map;
mod mark;

pub use collectives::AxisNames;
