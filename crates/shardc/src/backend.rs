//! Serializes programs for back ends. Programs are legalized, and written as bytecode if this build has MLIR, otherwise as text.

use std::borrow::Cow;

use shardc_ir::Module;
use shardc_passes::transforms::legalize_backend::legalize;
pub(crate) use shardc_passes::transforms::legalize_backend::{Backend, BackendOptions};
use shardc_passes::transforms::unquantize::{is_needed as is_quantized, unquantize};
use shardc_stablehlo::{PrintForm, PrintOptions, list_booleans};

use crate::Error;

/// The program for a PJRT plugin, in the fastest format that this build can write.
pub(crate) fn code(module: &Module, options: &BackendOptions) -> Result<Vec<u8>, Error> {
    if cfg!(feature = "mlir") {
        bytecode(module, options)
    } else {
        text(module, options).map(String::into_bytes)
    }
}

/// The program for a PJRT plugin as generic text.
pub(crate) fn text(module: &Module, options: &BackendOptions) -> Result<String, Error> {
    let mut legal = unquantized(module)?.into_owned();
    legalize(&mut legal, options)?;
    list_booleans(&mut legal);
    let form = PrintForm::Generic;
    Ok(shardc_stablehlo::print(&legal, &PrintOptions { form, locations: true, ..PrintOptions::default() }))
}

/// The program for a PJRT plugin as bytecode.
#[cfg(feature = "mlir")]
pub(crate) fn bytecode(module: &Module, options: &BackendOptions) -> Result<Vec<u8>, Error> {
    let options = shardc_mlir::LowerOptions { backend: *options, locations: true };
    let module = unquantized(module)?;
    Ok(shardc_mlir::to_bytecode(&module, &options)?)
}

/// The module as bytecode, without legalization.
#[cfg(feature = "mlir")]
pub(crate) fn write_bytecode(module: &Module) -> Result<Vec<u8>, Error> {
    Ok(shardc_mlir::write_bytecode(module, true)?)
}

#[cfg(not(feature = "mlir"))]
pub(crate) fn bytecode(_: &Module, _: &BackendOptions) -> Result<Vec<u8>, Error> {
    Err(without_mlir())
}

#[cfg(not(feature = "mlir"))]
pub(crate) fn write_bytecode(_: &Module) -> Result<Vec<u8>, Error> {
    Err(without_mlir())
}

#[cfg(not(feature = "mlir"))]
fn without_mlir() -> Error {
    shardc_ir::Diagnostic::unsupported("SH0510", "cannot write bytecode, because this build of shardc does not include MLIR")
        .hint("write text, or build with the feature `mlir`, which needs LLVM 22 (Debian: libmlir-22-dev, llvm-22-dev, libclang-22-dev)")
        .into()
}

/// Replaces quantized values by their storage integers, because plugins do not support quantized types.
fn unquantized(module: &Module) -> Result<Cow<'_, Module>, Error> {
    let mut module = Cow::Borrowed(module);
    if is_quantized(&module) {
        unquantize(module.to_mut())?;
    }
    Ok(module)
}
