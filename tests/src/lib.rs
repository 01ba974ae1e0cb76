//! # shardc-tests: what the tests that cross crates have in common
//!
//! [`devices`] runs partitioned programs, [`random`] makes programs out of random numbers, [`interpret`] out of
//! StableHLO's interpreter tests, [`conformance`] does what `cargo xtask conformance` asks for, [`fuzz`] what
//! `cargo xtask fuzz` does, [`gradients`] compares derivatives with differences, [`outline`] makes functions of pieces of programs, [`steps`] are training steps of our own graphs, [`training`] all that have no annotations; the runner of file tests is [`shardc_filetest`]'s.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

pub mod conformance;
pub mod devices;
pub mod fuzz;
pub mod gradients;
pub mod interpret;
pub mod outline;
pub mod random;
pub mod steps;
pub mod training;

pub use shardc_filetest::{files, filetest, functions, memory, program, quick, root, shared, skip, tools};
