//! Tests of checkpoints, in one test binary, because linking a binary takes seconds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod fit;
mod manager;
mod memory;
mod python;
