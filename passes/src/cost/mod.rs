//! What a program costs: the unit that planning compares ways of doing things in, what a partitioned program sends, and
//! the memory that it needs on each device.

pub mod memory;
mod model;
pub mod traffic;
pub(crate) use self::model::*;
