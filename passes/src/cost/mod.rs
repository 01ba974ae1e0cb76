//! Cost models: the unit in which planning compares alternatives, the bytes that a partitioned program sends, and its memory per device.

pub mod memory;
mod model;
pub mod traffic;
pub(crate) use self::model::*;

/// So many more bytes a loop may keep on each device by default, where that takes collectives out of it.
pub(crate) const LOOP_KEEP_BYTES: u64 = 64 << 20;
