//! One file per command.

pub(crate) mod compile;
pub(crate) mod explain;
pub(crate) mod lint;
pub(crate) mod manual;
pub(crate) mod ops;
pub(crate) mod opt;
pub(crate) mod partition;
pub(crate) mod plugin;
pub(crate) mod propagate;
pub(crate) mod run;
pub(crate) mod verify;

use anyhow::Result;
use shardc::runtime::{
    Client, ClientOptions, Environment, Plugin, PluginKind, RuntimeError, plugin as plugins,
};

use crate::args::DeviceArgs;
use crate::failure::{Failure, usage};

/// A client of `devices` CPU devices, of the plugin given or found.
fn cpu_client(args: &DeviceArgs, devices: usize) -> Result<Client> {
    if let Some(wanted) = args.devices
        && wanted != devices
    {
        return Err(usage(format!("the mesh has {devices} devices, but --devices {wanted} was given")));
    }
    let mut environment = Environment::from_process();
    if let Some(path) = &args.plugin {
        environment = environment.with_plugin(PluginKind::Cpu, path.clone());
    }
    let found = plugins::find(PluginKind::Cpu, &environment).map_err(runtime_error)?;
    let plugin = Plugin::load(&found.path).map_err(runtime_error)?;
    Client::new(&plugin, ClientOptions { cpu_device_count: Some(devices) }).map_err(runtime_error)
}

/// A runtime error with its code and hint.
fn runtime_error(error: RuntimeError) -> anyhow::Error {
    Failure::runtime(&error).into()
}
