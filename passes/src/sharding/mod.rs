//! Shardings as such: arithmetic of axes, where the sharding of a value is written, and changes of all shardings at once.

pub(crate) mod access;
pub(crate) mod axes;
pub(crate) mod map;
