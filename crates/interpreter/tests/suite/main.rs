//! Tests of the interpreter: StableHLO's own suites, several devices, limits, and the exact domain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod checks;
mod conformance;
mod corpus;
mod decompositions;
mod devices;
mod exact;
mod limits;
mod programs;
