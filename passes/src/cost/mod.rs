//! What a program costs: the unit that planning compares ways of doing things in, what a partitioned program sends, and
//! the memory that it needs on each device.

pub mod memory;
mod model;
pub mod traffic;
pub(crate) use self::model::*;

/// So many more bytes a loop may keep on each device by default, where that takes collectives out of it.
pub(crate) const LOOP_KEEP_BYTES: u64 = 64 << 20;
