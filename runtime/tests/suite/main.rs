//! Tests of the runtime, in one test binary, because linking a binary takes seconds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod asynchronous;
#[path = "../common/mod.rs"]
mod common;
mod execute;
mod install;
mod layouts;
mod processes;
mod runs;
mod sharded;
