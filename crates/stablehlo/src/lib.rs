//! # shardc-stablehlo: StableHLO as text and as bytecode
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! [`parse`] reads the text that JAX, PyTorch/XLA and MLIR's own tools print (the `func`, `stablehlo`, `chlo` and
//! `sdy` dialects, in pretty or generic form) into a [`Module`](shardc_ir::Module); [`print()`] writes it back, byte for
//! byte in MLIR's layout; [`render`] shows [`Diagnostic`](shardc_ir::Diagnostic)s at their place in the text.
//!
//! [`parse_bytecode`] reads MLIR bytecode, of which StableHLO's portable artifacts are a kind; [`is_bytecode`] tells it
//! from text. What it reads is made into a module by the code that reads text, so that a program is the same module
//! either way.
//!
//! What is known about an operation's syntax stands in one place, `syntax`: names, inherent attributes and pieces
//! of the pretty form. Reader and writers are driven by it, and so is [`properties`], which gives an operation's
//! inherent attributes as MLIR text to whoever builds MLIR operations.
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
mod split;
mod syntax;

pub use bytecode::{is_bytecode, parse_bytecode};
pub use diagnostics::{RenderOptions, render, render_with};
pub use expected::{Strictness, check_expected};
pub use foreign::{not_a_program, not_text};
pub use parser::parse;
pub use printer::{
    PrintForm, PrintOptions, Shardings, list_booleans, print, print_op, properties, value_names,
};
pub use split::{Chunk, parse_split, split};

/// The names of all operations whose syntax is known, with dialect, sorted.
#[must_use]
pub fn op_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = syntax::table::names().collect();
    names.sort_unstable();
    names
}
