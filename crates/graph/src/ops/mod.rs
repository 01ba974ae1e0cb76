//! Operations on tensors, one file per kind of operation.

mod activation;
mod bits;
mod broadcast;
mod contract;
mod conv;
mod cumulative;
mod dynamic;
mod einsum;
mod elementwise;
mod index;
mod linalg;
mod mask;
mod movement;
mod operators;
mod pool;
mod reduction;
mod sort;
mod update;

pub use contract::DotDims;
pub use conv::{Conv, Padding};
pub use index::OutOfBounds;
pub use movement::SliceRange;
