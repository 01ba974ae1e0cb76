//! Cost models: the cost by which planning compares alternatives, the bytes that a partitioned program sends, and its memory per device.

pub mod memory;
mod model;
pub mod traffic;
pub(crate) use self::model::*;

/// The default limit on the additional bytes that may be live across a loop, per device, when collectives are hoisted out of it.
pub(crate) const LOOP_KEEP_BYTES: u64 = 64 << 20;
