//! # shardc-mlir: lowering to MLIR
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! Lowers a [`Module`] to an MLIR module with LLVM's MLIR, and writes it as bytecode, which PJRT plugins read, or as text in
//! the generic form.
//!
//! Only the dialects `func` and `builtin` are registered. StableHLO, CHLO and all other dialects are not part of LLVM, so the
//! context allows unregistered dialects, and their attributes are opaque (`#stablehlo.dot<...>` is kept as text). A reader that
//! knows these dialects parses them.
//!
//! The module must be a partitioned program, in which values have the shapes of one device, or a single-device program. The lowering
//! first [legalizes](shardc_analysis::transforms::legalize_backend) the module, which drops shardings and annotations. So a program
//! that was not partitioned lowers to a single-device program.
//!
//! [`write_bytecode`] writes any module unchanged, for other tools.
//!
//! MLIR's errors are returned as [`Diagnostic`]s with codes `SH05xx`.

mod attrs;
mod constant;
mod ffi;
mod locs;
mod lower;
mod session;

use shardc_analysis::transforms::legalize_backend::{BackendOptions, legalize};
pub use shardc_ir::SpmdMode;
use shardc_ir::{Diagnostic, Module};
use shardc_stablehlo::{PrintForm, PrintOptions};

/// Options of lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerOptions {
    /// The number of devices and other options of the back end.
    pub backend: BackendOptions,
    /// Whether to keep the source locations of operations.
    pub locations: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions { backend: BackendOptions::default(), locations: true }
    }
}

/// Lowers `module` and writes it as MLIR bytecode.
///
/// # Errors
/// The module is invalid; it has operations that must be partitioned first (`sdy.manual_computation`, Shardy collectives such as
/// `sdy.all_gather`); or it has an attribute or a type in text form that MLIR rejects.
pub fn to_bytecode(module: &Module, options: &LowerOptions) -> Result<Vec<u8>, Diagnostic> {
    let session = session::Session::new();
    let module = legalized(module, options)?;
    let lowered = lower::lower(&session, &module, options.locations)?;
    Ok(ffi::write_bytecode(&lowered))
}

/// Writes `module` as MLIR bytecode unchanged, with annotations, meshes and global shapes.
///
/// # Errors
/// A part of the module is kept as text in the custom syntax of a dialect. Or MLIR rejects the printed module, which is a bug unless
/// `shardc_ir::verify` also rejects it.
pub fn write_bytecode(module: &Module, locations: bool) -> Result<Vec<u8>, Diagnostic> {
    // Custom syntax can only be parsed by its dialect.
    if let Some(kept) = module.kept.iter().find(|kept| !kept.text.starts_with('"')) {
        return Err(kept.unsupported("SH0508"));
    }
    // The dialects are not registered in this context, so MLIR would write their properties in a form that readers with these dialects
    // cannot parse. The printed text therefore contains attributes instead of properties.
    let form = PrintForm::GenericAttributes;
    let text = shardc_stablehlo::print(module, &PrintOptions { form, locations, ..PrintOptions::default() });
    let session = session::Session::without_dialects();
    match melior::ir::Module::parse(&session.context, &text) {
        Some(read) => Ok(ffi::write_bytecode(&read)),
        None => Err(session.failure("SH0509", "MLIR cannot parse the printed module")),
    }
}

/// Lowers `module` and prints it with LLVM's MLIR, every operation in the generic form. The text contains the same module as the bytecode
/// of [`to_bytecode`].
///
/// # Errors
/// Fails in the cases in which [`to_bytecode`] fails.
pub fn to_generic_text(module: &Module, options: &LowerOptions) -> Result<String, Diagnostic> {
    let session = session::Session::new();
    let module = legalized(module, options)?;
    let lowered = lower::lower(&session, &module, options.locations)?;
    let text = ffi::print_generic(&lowered, options.locations);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn legalized(module: &Module, options: &LowerOptions) -> Result<Module, Diagnostic> {
    let mut module = module.clone();
    legalize(&mut module, &options.backend)?;
    Ok(module)
}
