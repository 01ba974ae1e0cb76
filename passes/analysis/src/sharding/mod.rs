//! Shardings: arithmetic of axes, access to the sharding of a value, and changes of all shardings at once.

pub mod access;
pub mod axes;
pub mod interface;
pub mod manual;
pub mod map;
pub mod refined;
pub mod signature;
pub mod sub_axes;
