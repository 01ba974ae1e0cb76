//! The syntax of all operations.
//!
//! [`table`] has one row per operation: its inherent attributes with their types, from [`shardc_ir`]'s table, and the pieces of its pretty
//! form if MLIR has one. [`kinds`] converts between attribute values and the payload of an [`OpKind`](shardc_ir::OpKind). The parser and
//! the printer are driven by the table and these conversions.

pub(crate) mod kinds;
pub(crate) mod table;
pub(crate) mod values;

pub(crate) use shardc_ir::AttrType;
pub(crate) use table::{Piece, Row, SPELLING, SPELLINGS, row};
pub(crate) use values::{Attrs, ConvNumbers, Val};
