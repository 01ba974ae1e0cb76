//! What is known about each operation's syntax, in one place.
//!
//! [`table`] has one row per operation: its inherent attributes with their types, which are those of [`shardc_ir`]'s
//! table, and, where MLIR has one, the pieces of its pretty form. [`kinds`] turns attribute values into the payload of an
//! [`OpKind`](shardc_ir::OpKind) and back. The reader and both printers are driven by the two.

pub(crate) mod kinds;
pub(crate) mod table;
pub(crate) mod values;

pub(crate) use shardc_ir::AttrType;
pub(crate) use table::{Piece, Row, SPELLING, SPELLINGS, row};
pub(crate) use values::{Attrs, ConvNumbers, Val};
