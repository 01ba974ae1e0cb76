//! Values in MLIR's text format, for the printer, the syntax table, and the readers of text and bytecode. The readers write the text of
//! constructs that a module does not model and that are therefore kept as text.
//!
//! * [`tokens`]: lists, numbers, strings, names; [`attrs`]: generic attributes.
//! * [`dense`]: constants; [`elements`]: their bytes in a hexadecimal string or in bytecode.
//! * [`sdy`]: meshes, axes and shardings.

pub(crate) mod attrs;
pub(crate) mod dense;
pub(crate) mod elements;
pub(crate) mod sdy;
pub(crate) mod tokens;
