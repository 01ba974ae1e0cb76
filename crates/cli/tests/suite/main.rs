//! Tests of the program `shardc`, in one program: each test program takes seconds to link.

mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod foreign;
mod inputs;
mod machines;
mod passes;
mod plugins;
mod runs;
mod signals;
mod state_dicts;
mod streams;
mod terminal;
