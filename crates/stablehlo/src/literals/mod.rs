//! Values as MLIR writes them, whoever asks: the printer, the table of syntax, and the readers of text and bytecode,
//! which keep as text what a module does not model.
//!
//! * [`tokens`]: lists, numbers, strings, names; [`attrs`]: attributes that are carried.
//! * [`dense`]: constants; [`elements`]: their bytes in a string or in bytecode.
//! * [`sdy`]: meshes, axes and shardings.

pub(crate) mod attrs;
pub(crate) mod dense;
pub(crate) mod elements;
pub(crate) mod sdy;
pub(crate) mod tokens;
