//! # shardc-mlir: from shardc's IR to MLIR
//!
//! Internal: this crate may change in any release. Front ends use the crate `shardc`.
//!
//! Lowers a [`Module`] to an MLIR module through LLVM's own MLIR, and writes it as bytecode (what PJRT plugins
//! are fed) or as text in the generic form.
//!
//! The `func` and `builtin` dialects are MLIR's. StableHLO, CHLO and all others are not registered in LLVM:
//! their operations are built in a context that allows unregistered dialects, their attributes are opaque
//! (`#stablehlo.dot<...>` is kept as text), and the reader at the other end, which knows the dialects, gives
//! them their meaning.
//!
//! What it takes is a module whose every value is what one device holds: a partitioned program, or a
//! single-device one. It is [legalized](shardc_passes::transforms::legalize_backend) first: shardings are not written, and annotations vanish,
//! so a program that was never partitioned lowers to the single-device program that it stands for.
//!
//! [`write_bytecode`] writes any module as it is, for other tools to read.
//!
//! MLIR's complaints, if there are any, come back as [`Diagnostic`]s with codes `SH05xx`.

mod attrs;
mod constant;
mod ffi;
mod locs;
mod lower;
mod session;

pub use shardc_ir::SpmdMode;
use shardc_ir::{Diagnostic, Module};
use shardc_passes::transforms::legalize_backend::{BackendOptions, legalize};
use shardc_stablehlo::{PrintForm, PrintOptions};

/// How to lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerOptions {
    /// What the back end is told about devices.
    pub backend: BackendOptions,
    /// Whether operations keep their source locations.
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
/// The module holds what only a partitioner can take away (`sdy.manual_computation`, collectives between
/// shardings), text that MLIR does not take, or is not valid.
pub fn to_bytecode(module: &Module, options: &LowerOptions) -> Result<Vec<u8>, Diagnostic> {
    let session = session::Session::new();
    let module = legalized(module, options)?;
    let lowered = lower::lower(&session, &module, options.locations)?;
    Ok(ffi::write_bytecode(&lowered))
}

/// Writes `module` as MLIR bytecode just as it is: annotations, meshes and global shapes included.
///
/// # Errors
/// A part of the module is kept as text in the syntax of a dialect. Or MLIR refuses what the printed module says: a bug, or a module that `shardc_ir::verify` would refuse.
pub fn write_bytecode(module: &Module, locations: bool) -> Result<Vec<u8>, Diagnostic> {
    // Text in the syntax of a dialect needs that dialect to be read.
    if let Some(kept) = module.kept.iter().find(|kept| !kept.text.starts_with('"')) {
        return Err(kept.unsupported("SH0508"));
    }
    // MLIR does not know the dialects here: properties would be in a form that those who do know them cannot read.
    let form = PrintForm::GenericAttributes;
    let text = shardc_stablehlo::print(module, &PrintOptions { form, locations, ..PrintOptions::default() });
    let session = session::Session::without_dialects();
    match melior::ir::Module::parse(&session.context, &text) {
        Some(read) => Ok(ffi::write_bytecode(&read)),
        None => Err(session.failure("SH0509", "MLIR does not take the printed module")),
    }
}

/// Lowers `module` and writes it as LLVM's MLIR prints it, every operation in generic form: what [`to_bytecode`] holds, for
/// people to read.
///
/// # Errors
/// Those of [`to_bytecode`].
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
