//! One file per command.

pub(crate) mod auto;
pub(crate) mod checkpoint;
mod client;
pub(crate) mod compile;
mod consolidate;
mod convert;
pub(crate) mod derivative;
pub(crate) mod diff;
mod engine;
pub(crate) mod explain;
mod fit;
pub(crate) mod fsdp;
pub(crate) mod help;
pub(crate) mod launch;
pub(crate) mod lint;
pub(crate) mod lora;
pub(crate) mod lsp;
pub(crate) mod manual;
pub(crate) mod memory;
pub(crate) mod ops;
pub(crate) mod opt;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod propagate;
pub(crate) mod prove;
pub(crate) mod run;
pub(crate) mod snapshot;
mod sweep;
pub(crate) mod verify;

use shardc::Module;

use crate::args::FormArgs;

/// Prints a program in the requested form. `located` is whether the input of the command has source locations.
fn printed(module: &Module, form: FormArgs, located: bool) -> Result<Vec<u8>, shardc::Error> {
    let text = || shardc_stablehlo::print(module, &form.print_options(located)).into_bytes();
    form.emit.binary(module).unwrap_or_else(|| Ok(text()))
}
