//! Tests of the runtime, in one program: each test program takes seconds to link.

mod asynchronous;
#[path = "../common/mod.rs"]
mod common;
mod execute;
mod install;
mod layouts;
mod processes;
mod runs;
mod sharded;
