//! MLIR bytecode, versions 0 to 6 of the format, read and written without MLIR.
//!
//! * [`reader`]: a cursor over bytes, with sections and variable-width integers.
//! * [`container`]: the sections of a file: strings, dialects, attributes and types, properties, resources.
//! * [`attr`]: decoded attributes and types; [`dialect`]: the table of dialects with their own encoding: [`builtin`],
//!   [`stablehlo`], [`chlo`], [`quant`], [`sdy`], [`vhlo`].
//! * [`ir`]: operations as records, decoded by [`body`] from the sections in [`file`]; [`properties`]: the encoding of inherent attributes.
//! * [`vhlo`]: the conversion of portable artifacts to StableHLO, record by record.
//! * [`text`]: attributes and types as text in MLIR's generic form; [`element_type`]s of constants; [`locs`].
//! * [`plan`]: the choice of operations that become the module, and of those that are kept as [`generic`] text.
//! * [`write`]: the writer, from a module to bytecode and portable artifacts.
//! * [`build`]: conversion of records to a [`Module`], by the text parser.

mod attr;
mod body;
mod build;
mod builtin;
mod chlo;
mod container;
mod dialect;
mod element_type;
mod file;
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
mod write;

use shardc_ir::{Diagnostic, Module};

use crate::lexer::Res;
use crate::parser::records::without_place;
use ir::Ir;
pub use vhlo::Version;
pub use write::{BytecodeOptions, Properties, to_artifact, to_bytecode};

/// The first bytes of each file.
const MAGIC: &[u8] = b"ML\xEFR";

/// Whether `bytes` are MLIR bytecode. Portable artifacts of StableHLO are bytecode, too.
#[must_use]
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads MLIR bytecode.
///
/// # Errors
/// The bytes do not follow the format, or the operations are not a valid program.
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

/// Returns the operations of a file. Those of portable artifacts are converted from VHLO to StableHLO.
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
