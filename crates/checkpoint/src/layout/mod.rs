//! The files of a checkpoint: Zarr arrays, and the metadata that Orbax puts beside them.

pub(crate) mod array;
pub(crate) mod dtype;
pub(crate) mod encode;
pub(crate) mod fill;
pub(crate) mod orbax;
pub(crate) mod tile;
pub(crate) mod zarr2;
