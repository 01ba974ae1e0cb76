//! Operations on tensors, one file per subject.

mod broadcast;
mod contract;
mod dynamic;
mod elementwise;
mod movement;
mod operators;
mod reduction;

pub use contract::DotDims;
