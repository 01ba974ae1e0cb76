//! # shardc-tests: what the tests that cross crates have in common
//!
//! [`devices`] runs partitioned programs, [`random`] makes programs out of random numbers, [`conformance`] does what
//! `cargo xtask conformance` asks for; the runner of file tests is [`shardc_filetest`]'s.

pub mod conformance;
pub mod devices;
pub mod random;

pub use shardc_filetest::{files, filetest, functions, program, root, shared};
