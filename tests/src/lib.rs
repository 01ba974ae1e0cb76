//! # shardc-tests: helpers for tests that cross crates
//!
//! [`devices`] runs partitioned programs. [`random`] generates programs from random numbers, and [`interpret`] generates programs from
//! StableHLO's interpreter tests. [`conformance`] runs the checks of `cargo xtask conformance`, and [`fuzz`] those of `cargo xtask fuzz`.
//! [`mutants`] damages partitions, and proves them. [`gradients`] compares derivatives with finite differences, and [`outline`] outlines operations of programs into functions. [`steps`]
//! has training steps built with shardc's graph builder, [`training`] has all training steps, without annotations. The runner of file tests
//! is in [`shardc_filetest`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

pub mod conformance;
pub mod devices;
pub mod fuzz;
pub mod gradients;
pub mod interpret;
pub mod mutants;
pub mod outline;
pub mod random;
pub mod steps;
pub mod training;

pub use shardc_filetest::{
    files, filetest, functions, memory, program, quick, root, sample, shared, skip, time, tools,
};
