//! Tests of the runtime, in one test binary, because linking a binary takes seconds.

mod asynchronous;
#[path = "../common/mod.rs"]
mod common;
mod execute;
mod install;
mod layouts;
mod processes;
mod runs;
mod sharded;
