//! What the examples share.

pub mod digits;
pub mod harness;
pub mod reading;
pub mod writing;
