//! Tests of the `shardc` executable. They are in one test binary, because linking a binary takes seconds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod foreign;
mod hooks;
mod inputs;
mod lsp;
mod machines;
mod passes;
mod plugins;
mod runs;
mod signals;
mod state_dicts;
mod streams;
mod terminal;
