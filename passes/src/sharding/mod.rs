//! Shardings as such: arithmetic of axes, where the sharding of a value is written, and changes of all shardings at once.

pub(crate) mod access;
pub(crate) mod axes;
pub mod interface;
pub(crate) mod manual;
pub(crate) mod map;
pub(crate) mod signature;
pub(crate) mod sub_axes;
