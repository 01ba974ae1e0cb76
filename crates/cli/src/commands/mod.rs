//! One file per command.

pub(crate) mod checkpoint;
pub(crate) mod compile;
mod consolidate;
mod convert;
pub(crate) mod derivative;
pub(crate) mod explain;
mod fit;
pub(crate) mod fsdp;
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

use std::time::Duration;

use anyhow::Result;
use shardc::exec::Limits;
use shardc::ir::Mesh;
use shardc::runtime::{
    Client, ClientOptions, Environment, MemoryLimit, Plugin, PluginKind, RuntimeError, plugin as plugins,
};

use shardc::{Compiler, Module};
use shardc_stablehlo::{PrintForm, PrintOptions};

use crate::args::{DeviceArgs, Emit};
use crate::failure::Failure;

/// A program as it is written to a file.
fn printed(module: &Module, emit: Emit) -> Result<Vec<u8>, shardc::Error> {
    let form = match emit {
        Emit::Pretty => PrintForm::Pretty,
        Emit::Generic => PrintForm::Generic,
        Emit::Bytecode => return Compiler::write_bytecode(module),
    };
    Ok(shardc_stablehlo::print(module, &PrintOptions { form, ..PrintOptions::default() }).into_bytes())
}

/// A client of as many CPU devices as the program is for, of the plugin given or found.
fn cpu_client(args: &DeviceArgs, mesh: &Mesh) -> Result<Client> {
    let devices = mesh.num_devices();
    if let Some(wanted) = args.devices
        && wanted != devices
    {
        let message = format!("the mesh has {devices} devices, but --devices {wanted} was given");
        return Err(Failure::Usage { message, hint: fit::hint(mesh, wanted) }.into());
    }
    let mut environment = Environment::from_process();
    if let Some(path) = &args.plugin.file {
        environment = environment.with_plugin(PluginKind::Cpu, path.clone());
    }
    let found = plugins::find(PluginKind::Cpu, &environment).map_err(runtime_error)?;
    let plugin = Plugin::load(&found.path).map_err(runtime_error)?;
    Client::new(&plugin, ClientOptions { cpu_device_count: Some(devices) })
        .map_err(|error| devices_error(&error, mesh))
}

/// What a run may take.
fn limits(args: &DeviceArgs) -> Limits {
    Limits {
        memory: match args.host_memory {
            None => MemoryLimit::Available,
            Some(0) => MemoryLimit::Unlimited,
            Some(bytes) => MemoryLimit::Bytes(bytes),
        },
        time: (args.time_limit > 0).then(|| Duration::from_secs(args.time_limit)),
    }
}

/// A runtime error; where there is another number of devices than the program's, with the mesh that fits.
fn devices_error(error: &RuntimeError, mesh: &Mesh) -> anyhow::Error {
    let fitting = match error {
        RuntimeError::Devices { available, .. } => fit::hint(mesh, *available),
        RuntimeError::DeviceLimit { limit, .. } => fit::hint(mesh, *limit),
        _ => None,
    };
    let mut failure = Failure::runtime(error);
    if let (Failure::Runtime { hint, .. }, Some(fitting)) = (&mut failure, fitting) {
        *hint = Some(fitting);
    }
    failure.into()
}

/// A runtime error with its code and hint.
fn runtime_error(error: RuntimeError) -> anyhow::Error {
    Failure::runtime(&error).into()
}
