//! One file per command.

pub(crate) mod checkpoint;
mod client;
pub(crate) mod compile;
mod consolidate;
mod convert;
pub(crate) mod derivative;
pub(crate) mod explain;
mod fit;
pub(crate) mod fsdp;
pub(crate) mod launch;
pub(crate) mod lint;
pub(crate) mod lora;
pub(crate) mod manual;
pub(crate) mod ops;
pub(crate) mod opt;
pub(crate) mod partition;
pub(crate) mod plugin;
pub(crate) mod propagate;
pub(crate) mod run;
pub(crate) mod verify;

use shardc::{Compiler, Module};
use shardc_stablehlo::{PrintForm, PrintOptions};

use crate::args::Emit;

/// A program as it is written to a file.
fn printed(module: &Module, emit: Emit) -> Result<Vec<u8>, shardc::Error> {
    let form = match emit {
        Emit::Pretty => PrintForm::Pretty,
        Emit::Generic => PrintForm::Generic,
        Emit::Bytecode => return Compiler::write_bytecode(module),
    };
    Ok(shardc_stablehlo::print(module, &PrintOptions { form, ..PrintOptions::default() }).into_bytes())
}
