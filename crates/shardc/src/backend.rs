//! Serializes programs for back ends. Programs are legalized, and written as bytecode, a portable artifact or text.

use std::borrow::Cow;

use shardc_ir::Module;
use shardc_passes::transforms::legalize_backend::legalize;
pub(crate) use shardc_passes::transforms::legalize_backend::{Backend, BackendOptions};
use shardc_passes::transforms::unquantize::{is_needed as is_quantized, unquantize};
use shardc_stablehlo::{BytecodeOptions, PrintForm, PrintOptions, Version, list_booleans};

use crate::Error;

/// The program for a PJRT plugin as generic text.
pub(crate) fn text(module: &Module, options: &BackendOptions) -> Result<String, Error> {
    let mut legal = legalized(module, options)?;
    list_booleans(&mut legal);
    let form = PrintForm::Generic;
    Ok(shardc_stablehlo::print(&legal, &PrintOptions { form, locations: true, ..PrintOptions::default() }))
}

/// The program for a PJRT plugin as bytecode.
pub(crate) fn bytecode(module: &Module, options: &BackendOptions) -> Result<Vec<u8>, Error> {
    write_bytecode(&legalized(module, options)?)
}

/// The program for a PJRT plugin as a portable artifact.
pub(crate) fn artifact(module: &Module, options: &BackendOptions, target: Version) -> Result<Vec<u8>, Error> {
    write_artifact(&legalized(module, options)?, target)
}

/// The module as bytecode, without legalization.
pub(crate) fn write_bytecode(module: &Module) -> Result<Vec<u8>, Error> {
    Ok(shardc_stablehlo::to_bytecode(module, &BytecodeOptions::default())?)
}

/// The module as a portable artifact, without legalization.
pub(crate) fn write_artifact(module: &Module, target: Version) -> Result<Vec<u8>, Error> {
    Ok(shardc_stablehlo::to_artifact(module, target, true)?)
}

/// The program of [`bytecode`], lowered and written by LLVM's MLIR.
#[cfg(feature = "mlir")]
pub(crate) fn mlir_bytecode(module: &Module, options: &BackendOptions) -> Result<Vec<u8>, Error> {
    let options = shardc_mlir::LowerOptions { backend: *options, locations: true };
    let module = unquantized(module)?;
    Ok(shardc_mlir::to_bytecode(&module, &options)?)
}

fn legalized(module: &Module, options: &BackendOptions) -> Result<Module, Error> {
    let mut legal = unquantized(module)?.into_owned();
    legalize(&mut legal, options)?;
    Ok(legal)
}

/// Replaces quantized values by their storage integers, because plugins do not support quantized types.
fn unquantized(module: &Module) -> Result<Cow<'_, Module>, Error> {
    let mut module = Cow::Borrowed(module);
    if is_quantized(&module) {
        unquantize(module.to_mut())?;
    }
    Ok(module)
}
