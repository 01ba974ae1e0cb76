//! Operations on tensors, one file per subject.

mod activation;
mod broadcast;
mod contract;
mod conv;
mod cumulative;
mod dynamic;
mod einsum;
mod elementwise;
mod index;
mod movement;
mod operators;
mod reduction;
mod sort;

pub use contract::DotDims;
pub use conv::{Conv, Padding};
pub use index::OutOfBounds;
pub use movement::SliceRange;
