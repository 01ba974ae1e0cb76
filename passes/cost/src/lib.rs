//! # shardc-cost: cost models
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! The cost by which planning compares alternatives, the bytes that a partitioned program sends ([`traffic`]), its memory per device
//! ([`memory`]), and the time of one execution ([`time`]). These modules are the *rooms* of the crate (see `docs/ARCHITECTURE.md`). Only
//! `time` uses the others.

pub mod memory;
mod model;
pub mod time;
pub mod traffic;
pub use self::model::{CostModel, Costs};

/// The default limit on the additional bytes that may be live across a loop, per device, when collectives are hoisted out of it.
pub const LOOP_KEEP_BYTES: u64 = 64 << 20;
