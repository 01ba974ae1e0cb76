//! What the examples share.

pub mod digits;
pub mod harness;
