//! MLIR bytecode: the binary form of a module, versions 0 to 6, read without MLIR.
//!
//! * [`reader`]: a cursor over bytes, with sections and integers of variable width.
//! * [`container`]: the sections of a file: strings, dialects, attributes and types, properties, resources.
//! * [`attr`]: attributes and types as decoded; [`dialect`] is the table of who decodes which dialect's:
//!   [`builtin`], [`stablehlo`], [`chlo`], [`quant`], [`vhlo`].
//! * [`ir`]: operations as records, which [`body`] decodes; [`properties`]: how dialects encode inherent attributes.
//! * [`vhlo`]: what portable artifacts are made of, turned into what it stands for, record by record.
//! * [`text`]: attributes, types and locations as text in MLIR's generic form.
//! * [`build`]: records to a [`Module`], by the same code that makes a module from text.

#![allow(dead_code)]

mod attr;
mod builtin;
mod chlo;
mod dialect;
mod ir;
mod quant;
mod reader;
mod stablehlo;
mod vhlo;

use shardc_ir::{Diagnostic, Module};

use crate::codes;

/// What every file starts with.
const MAGIC: &[u8] = b"ML\xEFR";

/// Whether these are the bytes of MLIR bytecode, which a portable artifact of StableHLO is too.
#[must_use]
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads MLIR bytecode.
///
/// # Errors
/// The bytes do not follow the format, or the operations do not make a program.
pub fn parse_bytecode(bytes: &[u8]) -> Result<Module, Vec<Diagnostic>> {
    let _ = (bytes, vhlo::rewrite as fn(_, _) -> _, dialect::reader_of("builtin"), ir::Ir::default());
    Err(vec![Diagnostic::unsupported(codes::MALFORMED, "not yet")])
}
