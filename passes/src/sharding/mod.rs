//! Shardings: arithmetic of axes, access to the sharding of a value, and changes of all shardings at once.

pub(crate) mod access;
pub(crate) mod axes;
pub mod interface;
pub(crate) mod manual;
pub(crate) mod map;
pub(crate) mod signature;
pub(crate) mod sub_axes;
