//! Creates the PJRT client that runs a program.

use std::time::Duration;

use anyhow::Result;
use shardc::exec::Limits;
use shardc::ir::Mesh;
use shardc::runtime::plugin::{self as plugins, FoundPlugin};
use shardc::runtime::{
    Client, ClientOptions, Environment, MemoryLimit, Plugin, PluginKind, PluginOptions, Processes,
    RuntimeError,
};

use super::fit;
use crate::args::DeviceArgs;
use crate::failure::Failure;

/// Creates a client of the chosen plugin with one device for each device of the mesh. In a job of several processes, the client has only
/// the devices of this process.
pub(super) fn client(args: &DeviceArgs, mesh: &Mesh, job: Option<&Processes>) -> Result<Client> {
    let devices = mesh.num_devices();
    check_devices(args, mesh)?;
    let processes = job.map_or(1, Processes::count);
    if !devices.is_multiple_of(processes) {
        let message = format!("{devices} devices cannot be divided evenly among {processes} processes");
        let hint = Some("use a number of processes that divides the number of devices".to_owned());
        return Err(Failure::Usage { message, hint }.into());
    }
    let kind = kind(args);
    let found = find(args).map_err(runtime_error)?;
    let plugin = Plugin::load(&found.path).map_err(runtime_error)?;
    let options: PluginOptions = match kind {
        PluginKind::Cpu => ClientOptions { cpu_device_count: Some(devices / processes) }.into(),
        PluginKind::Cuda => args.gpu.options().into(),
        PluginKind::Tpu => PluginOptions::default(),
    };
    let client = match job {
        Some(job) => Client::across(&plugin, kind, options, job),
        None => Client::new(&plugin, options),
    };
    client.map_err(|error| devices_error(&error, mesh))
}

/// Finds the chosen plugin.
pub(super) fn find(args: &DeviceArgs) -> Result<FoundPlugin, RuntimeError> {
    let kind = kind(args);
    let mut environment = Environment::from_process();
    if let Some(path) = &args.plugin.file {
        environment = environment.with_plugin(kind, path.clone());
    }
    plugins::find(kind, &environment)
}

/// Checks that `--devices`, if given, is the size of the mesh.
pub(super) fn check_devices(args: &DeviceArgs, mesh: &Mesh) -> Result<()> {
    let devices = mesh.num_devices();
    match args.devices {
        Some(wanted) if wanted != devices => {
            let message = format!("the mesh has {devices} devices, but --devices {wanted} was given");
            Err(Failure::Usage { message, hint: fit::hint(mesh, wanted) }.into())
        }
        _ => Ok(()),
    }
}

/// Returns the kind of plugin: the chosen kind, else the kind in the name of the plugin's file, else the CPU.
pub(super) fn kind(args: &DeviceArgs) -> PluginKind {
    let of_file = || args.plugin.file.as_deref().map(|file| FoundPlugin::named(file).kind);
    args.target.map(PluginKind::from).or_else(of_file).unwrap_or(PluginKind::Cpu)
}

/// The limits on memory and time of an execution.
pub(super) fn limits(args: &DeviceArgs) -> Limits {
    Limits {
        memory: match args.host_memory {
            None => MemoryLimit::Available,
            Some(0) => MemoryLimit::Unlimited,
            Some(bytes) => MemoryLimit::Bytes(bytes),
        },
        time: (args.time_limit > 0).then(|| Duration::from_secs(args.time_limit)),
        work: (args.engine.work_limit > 0).then_some(args.engine.work_limit),
    }
}

/// Converts a runtime error. If the number of devices is wrong, the hint is a mesh that fits the devices.
pub(super) fn devices_error(error: &RuntimeError, mesh: &Mesh) -> anyhow::Error {
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

/// Converts a runtime error, with its code and hint.
pub(super) fn runtime_error(error: RuntimeError) -> anyhow::Error {
    Failure::runtime(&error).into()
}
