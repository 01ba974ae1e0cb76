//! Code that the examples share.

pub mod adapting;
pub mod ahead;
pub mod digits;
pub mod harness;
pub mod llama70b;
pub mod pictures;
pub mod reading;
pub mod run;
pub mod training;
pub mod writing;
