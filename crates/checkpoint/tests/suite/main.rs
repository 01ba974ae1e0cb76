//! Tests of checkpoints, in one program: each test program takes seconds to link.

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod fit;
mod manager;
mod memory;
mod python;
