//! # shardc-stablehlo: StableHLO as text and as bytecode
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! [`parse`] reads the text that JAX, PyTorch/XLA and MLIR tools print into a [`Module`](shardc_ir::Module): the
//! `func`, `stablehlo`, `chlo` and `sdy` dialects, in pretty or generic form. [`print()`] writes it back, byte for byte
//! in MLIR's layout. [`render`] shows [`Diagnostic`](shardc_ir::Diagnostic)s at their place in the text.
//!
//! [`parse_bytecode`] reads MLIR bytecode, which includes StableHLO's portable artifacts; [`is_bytecode`] distinguishes it from text. The
//! text parser also builds the module from decoded bytecode, so that both forms of a program produce the same module.
//!
//! The module `syntax` contains the syntax of all operations in one table: names, inherent attributes and pieces of the pretty form. The
//! parser, the printer and [`properties`], which returns the inherent attributes of an operation as MLIR text, are driven by this table.
//!
//! ```
//! use shardc_stablehlo::{PrintOptions, parse, print, render};
//!
//! let text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
//!   %y = stablehlo.add %x, %x : tensor<4xf32>
//!   return %y : tensor<4xf32>
//! }";
//! let module = parse(text).map_err(|errors| render(&errors, "f.mlir", text, false))?;
//! assert!(print(&module, &PrintOptions::default()).contains("%0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>"));
//! # Ok::<(), String>(())
//! ```

mod bytecode;
pub mod codes;
mod diagnostics;
mod expected;
mod foreign;
mod lexer;
mod literals;
mod parser;
mod printer;
mod source_index;
mod split;
mod syntax;

pub use bytecode::{
    BytecodeOptions, Properties, Version, is_bytecode, parse_bytecode, to_artifact, to_bytecode,
};
pub use diagnostics::{RenderOptions, render, render_with};
pub use expected::{Strictness, check_expected};
pub use foreign::{not_a_program, not_text};
pub use parser::{parse, parse_indexed};
pub use printer::{
    PrintForm, PrintOptions, Shardings, list_booleans, print, print_op, properties, value_names,
};
pub use source_index::{SourceIndex, SymbolDefinition, SymbolKind, SymbolUse, ValueDefinition, ValueUse};
pub use split::{Chunk, parse_split, split};

/// Returns the full names of all operations whose syntax is known, sorted.
#[must_use]
pub fn op_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = syntax::table::names().collect();
    names.sort_unstable();
    names
}
