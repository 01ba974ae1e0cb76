//! The files of a checkpoint: Zarr arrays, and Orbax's metadata for them.

pub(crate) mod array;
pub(crate) mod dtype;
pub(crate) mod encode;
pub(crate) mod fill;
pub(crate) mod orbax;
pub(crate) mod tile;
pub(crate) mod zarr2;
