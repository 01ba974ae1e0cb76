//! Tests of the prover: each rule with wrong variants that must not be accepted, training steps, and damaged partitions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod calls;
mod certificates;
mod counters;
mod exchanges;
mod halos;
mod loops;
mod manual;
mod norms;
mod pieces;
mod programs;
mod rules;
mod scatters;
mod selections;
mod support;
mod uneven;
mod windows;
