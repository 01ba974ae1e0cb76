//! MLIR bytecode: the binary form of a module, versions 0 to 6, read without MLIR.
//!
//! * [`reader`]: a cursor over bytes, with sections and integers of variable width.
//! * [`container`]: the sections of a file: strings, dialects, attributes and types, properties, resources.
//! * [`attr`]: attributes and types as decoded; [`dialect`] is the table of who decodes which dialect's:
//!   [`builtin`], [`stablehlo`], [`chlo`], [`quant`], [`sdy`], [`vhlo`].
//! * [`ir`]: operations as records, which [`body`] decodes; [`properties`]: how dialects encode inherent attributes.
//! * [`vhlo`]: what portable artifacts are made of, turned into what it stands for, record by record.
//! * [`text`]: attributes and types as text in MLIR's generic form; [`element_type`]s of constants; [`locs`].
//! * [`plan`]: what becomes the module, and what it keeps as [`generic`] text.
//! * [`build`]: records to a [`Module`], by the same code that makes a module from text.

mod attr;
mod body;
mod build;
mod builtin;
mod chlo;
mod container;
mod dialect;
mod element_type;
mod generic;
mod ir;
mod locs;
mod plan;
mod properties;
mod quant;
mod reader;
mod sdy;
mod stablehlo;
mod text;
mod vhlo;

use shardc_ir::{Diagnostic, Module};

use crate::lexer::Res;
use crate::parser::records::without_place;
use ir::Ir;

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
    let done = decode(bytes)
        .map_err(|failure| without_place(failure).into_iter().collect::<Vec<_>>())
        .and_then(|ir| build::build(&ir, bytes.len()));
    done.map_err(|mut errors| {
        for error in &mut errors {
            vhlo::explain(error, container::producer(bytes));
        }
        errors
    })
}

/// The operations of a file, those of portable artifacts as what they stand for.
fn decode(bytes: &[u8]) -> Res<Ir<'_>> {
    let mut ir = container::read(bytes)?;
    let mut versioned = false;
    let mut converter = vhlo::Converter::new(bytes.len());
    for op in &mut ir.ops {
        if op.name.starts_with("vhlo.") {
            converter.rewrite(&mut ir.store, op)?;
            versioned = true;
        }
    }
    if versioned {
        vhlo::drop_casts(&mut ir);
    }
    Ok(ir)
}
