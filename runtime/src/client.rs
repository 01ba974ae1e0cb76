//! Clients: a set of devices, and what compiles for them.

use std::sync::Arc;

use crate::device::{Buffer, Device};
use crate::error::{Result, RuntimeError};
use crate::executable::LoadedExecutable;
use crate::ffi::{RawClient, RawProgram};
use crate::host::HostArray;
use crate::options::CompileOptions;
use crate::plugin::Plugin;

/// The most virtual devices of the CPU plugin that one program can run on: the plugin takes devices of higher numbers for
/// those of another process, and refuses programs for them.
pub const MAX_CPU_DEVICES: usize = 2048;

/// What a client is created with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// How many virtual devices the CPU plugin makes; its own choice (4) where `None`. For CPU plugins only: others
    /// reject it.
    pub cpu_device_count: Option<usize>,
}

/// A set of devices of one kind, and what compiles for them. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Client {
    raw: Arc<RawClient>,
    devices: Vec<Device>,
    platform_name: String,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("platform_name", &self.platform_name)
            .field("devices", &self.devices)
            .finish()
    }
}

impl Client {
    /// Starts a client of a plugin.
    ///
    /// # Errors
    ///
    /// No devices are asked for or found, more than [`MAX_CPU_DEVICES`], or the plugin does not know an option.
    pub fn new(plugin: &Plugin, options: ClientOptions) -> Result<Client> {
        let mut values = Vec::new();
        if let Some(count) = options.cpu_device_count {
            if count == 0 || count > MAX_CPU_DEVICES {
                return Err(RuntimeError::DeviceLimit { wanted: count, limit: MAX_CPU_DEVICES });
            }
            values.push(("cpu_device_count", count as i64));
        }
        let raw = Arc::new(RawClient::create(plugin.api(), &values)?);
        let platform_name = raw.platform_name()?;
        let mut devices: Vec<Device> = raw.devices()?.into_iter().map(|raw| Device { raw }).collect();
        devices.sort_by_key(Device::id);
        Ok(Client { raw, devices, platform_name })
    }

    /// The devices that this process can use, by ascending number.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// `cpu`, `tpu`, `cuda`.
    #[must_use]
    pub fn platform_name(&self) -> &str {
        &self.platform_name
    }

    /// What the plugin says about its own build; free text.
    ///
    /// # Errors
    ///
    /// The plugin does not say.
    pub fn platform_version(&self) -> Result<String> {
        self.raw.platform_version()
    }

    /// Compiles StableHLO (text or bytecode) for devices of this client.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Compile`] with XLA's message where the program is wrong; [`RuntimeError::Argument`] where the
    /// client has too few devices.
    pub fn compile(&self, program: &[u8], options: &CompileOptions) -> Result<LoadedExecutable> {
        let wanted = options.num_devices();
        let ids: Vec<i32> = match &options.device_ids {
            Some(ids) => ids.clone(),
            None => self.devices.iter().take(wanted).map(Device::id).collect(),
        };
        if wanted == 0 || ids.len() != wanted {
            return Err(RuntimeError::Devices { program: wanted, available: ids.len() });
        }
        if let Some(unknown) = ids.iter().find(|id| !self.devices.iter().any(|device| device.id() == **id)) {
            return Err(RuntimeError::Argument(format!("the client has no device {unknown}")));
        }
        let raw = RawProgram::compile(&self.raw, program, &options.encode(&ids))
            .map_err(RuntimeError::in_compilation)?;
        Ok(LoadedExecutable::new(raw))
    }

    /// Copies an array to a device.
    ///
    /// # Errors
    ///
    /// The array's data does not have the size that its shape asks for, its element type does not exist on devices,
    /// or the device is out of memory.
    pub fn buffer_from_host(&self, array: &HostArray, device: &Device) -> Result<Buffer> {
        array.check()?;
        let raw = self.raw.buffer(&array.data, array.dtype, &array.shape, &device.raw)?;
        Buffer::new(raw, device.id())
    }
}
