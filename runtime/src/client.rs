//! Clients: a set of devices and their compiler.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::cache::{self, CompileCache};
use crate::device::relayout;
use crate::device::{Buffer, Device};
use crate::error::{Result, RuntimeError};
use crate::executable::LoadedExecutable;
use crate::ffi::{Across, RawClient, RawDevice, RawProgram, register_calls};
use crate::host::HostArray;
use crate::options::CompileOptions;
use crate::plugin::{Plugin, PluginKind};
use crate::plugin_options::{self, MAX_CPU_DEVICES, PluginOptions, Value};
use crate::processes::Processes;

/// A set of devices of one kind, and their compiler. Cheap to clone; usable from any thread. Dropping the last clone waits for executions
/// in flight: a process that exits while threads of a plugin run may crash.
#[derive(Clone)]
pub struct Client {
    raw: Arc<RawClient>,
    devices: Vec<Device>,
    /// The IDs of the devices of all processes, in ascending order.
    ids: Vec<i32>,
    platform_name: String,
    processes: Option<Processes>,
    cache: Option<Arc<CompileCache>>,
    _end: Arc<End>,
}

/// Waits for the executions in flight on a client when it is dropped.
struct End(Arc<RawClient>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.launcher.settle();
    }
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
    /// The number of devices is zero or exceeds [`MAX_CPU_DEVICES`], or the plugin does not support an option.
    pub fn new(plugin: &Plugin, options: impl Into<PluginOptions>) -> Result<Client> {
        Client::create(plugin, &options.into(), None)
    }

    /// Starts this process's client of a job of several processes. All processes must call this function, with a plugin of the same kind.
    ///
    /// With a CPU plugin each process has its own client, all with the same number of devices. For [`Client::compile_across`], the devices
    /// of all processes are numbered from 0, in the order of the processes. With a CUDA or TPU plugin, the client has the devices of all
    /// processes, and [`Client::compile`] compiles for all of them. CUDA plugins of different processes find each other through the job's
    /// key-value store, TPU plugins through the configuration of their machines.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::new`]; processes have different numbers of devices; a process is gone; the plugin does not support programs
    /// that call host functions.
    pub fn across(
        plugin: &Plugin,
        kind: PluginKind,
        options: impl Into<PluginOptions>,
        processes: &Processes,
    ) -> Result<Client> {
        let client = Client::create(plugin, &options.into(), Some((kind, processes)))?;
        if kind == PluginKind::Cpu {
            register_calls(plugin.api())?;
        }
        let count = (client.devices.len() as u64).to_le_bytes();
        let counts = processes.all_gather("shardc/devices", &count)?;
        if let Some(other) = counts.iter().position(|other| *other != count) {
            return Err(RuntimeError::Processes(format!(
                "all processes must have the same number of devices: process {} has {}, but process {other} has a different number",
                processes.index(),
                client.devices.len()
            )));
        }
        Ok(client)
    }

    fn create(
        plugin: &Plugin,
        options: &PluginOptions,
        across: Option<(PluginKind, &Processes)>,
    ) -> Result<Client> {
        let mut values = options.values()?;
        if let Some((PluginKind::Cuda, processes)) = across {
            let number = |n: usize| Value::Int(n as i64);
            values.push(("num_nodes", number(processes.count())));
            values.push(("node_id", number(processes.index())));
        }
        let processes = across.map(|(_, processes)| processes.clone());
        let raw = RawClient::create(plugin.api(), &values, processes.as_ref().map(Processes::job));
        let raw = Arc::new(raw.map_err(|error| plugin_options::without_hardware(error, plugin.path()))?);
        let platform_name = raw.platform_name()?;
        let mut devices: Vec<Device> = raw.devices()?.into_iter().map(|raw| Device { raw }).collect();
        devices.sort_by_key(Device::id);
        let mut ids = raw.device_ids()?;
        ids.sort_unstable();
        let end = Arc::new(End(raw.clone()));
        Ok(Client { raw, devices, ids, platform_name, processes, cache: None, _end: end })
    }

    /// The devices on which this process can place arrays and run programs, in ascending order of IDs.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns the processes of the job to which this client belongs; `None` for a client of one process.
    #[must_use]
    pub fn processes(&self) -> Option<&Processes> {
        self.processes.as_ref()
    }

    /// The platform of the devices: `cpu`, `tpu` or `cuda`.
    #[must_use]
    pub fn platform_name(&self) -> &str {
        &self.platform_name
    }

    /// The plugin's description of its build, as free text.
    ///
    /// # Errors
    ///
    /// The plugin provides no description.
    pub fn platform_version(&self) -> Result<String> {
        self.raw.platform_version()
    }

    /// Compiles StableHLO (text or bytecode) for devices of this client.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Compile`] with XLA's message if the program is invalid; [`RuntimeError::Argument`] if the client has too few
    /// devices.
    pub fn compile(&self, program: &[u8], options: &CompileOptions) -> Result<LoadedExecutable> {
        let (raw, ids) = self.compile_raw(program, options)?;
        let place = |device: &RawDevice| ids.iter().position(|&id| id == device.id);
        let places = raw.devices().iter().map(place).collect::<Option<Vec<_>>>();
        let places = places.ok_or_else(|| {
            RuntimeError::Argument(
                "the plugin placed the program on devices that were not requested".to_owned(),
            )
        })?;
        LoadedExecutable::new(raw, places, ids.len())
    }

    /// Compiles this process's part of a program for the devices of all processes. `program` is the part of one process, in which calls of
    /// host functions replace the cross-process collectives. `options` apply to the devices of one process.
    ///
    /// All processes must compile the same text, and execute it the same number of times.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::compile`]; [`RuntimeError::Argument`] for a client of one process.
    pub fn compile_across(&self, program: &[u8], options: &CompileOptions) -> Result<LoadedExecutable> {
        let Some(processes) = &self.processes else {
            return Err(RuntimeError::Argument(
                "cannot compile a program across processes: the client belongs to one process".to_owned(),
            ));
        };
        let (raw, _) = self.compile_raw(program, options)?;
        let devices = options.num_devices();
        let first = processes.index() * devices;
        let digest = Sha256::digest(program);
        let across = Across {
            job: processes.job().clone(),
            program: digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte)),
            first_device: u32::try_from(first)
                .map_err(|_| RuntimeError::DeviceLimit { wanted: first, limit: MAX_CPU_DEVICES })?,
        };
        let places = (first..first + devices).collect();
        LoadedExecutable::new(raw.across(across), places, devices * processes.count())
    }

    /// Compiles a program, or loads it from the cache. Also returns the IDs of the devices for which it was compiled.
    fn compile_raw(&self, program: &[u8], options: &CompileOptions) -> Result<(RawProgram, Vec<i32>)> {
        let wanted = options.num_devices();
        let ids: Vec<i32> = match &options.device_ids {
            Some(ids) => ids.clone(),
            None => self.ids.iter().copied().take(wanted).collect(),
        };
        if wanted == 0 || ids.len() != wanted {
            return Err(RuntimeError::Devices { program: wanted, available: ids.len() });
        }
        if let Some(unknown) = ids.iter().find(|id| !self.ids.contains(id)) {
            return Err(RuntimeError::Argument(format!("the client has no device with ID {unknown}")));
        }
        let compile = || {
            RawProgram::compile(&self.raw, program, &options.encode(&ids))
                .map_err(RuntimeError::in_compilation)
        };
        let Some(cache) = &self.cache else { return Ok((compile()?, ids)) };
        let entry = cache.entry(&[program, self.fingerprint(options, &ids)?.as_bytes()]);
        // A cache entry that the plugin cannot load is treated as damaged.
        if let Some(found) = cache.read(&entry)
            && let Ok(raw) = RawProgram::load(&self.raw, &found)
        {
            return Ok((raw, ids));
        }
        let raw = compile()?;
        // If the plugin cannot serialize the executable, or the disk is full, the executable is not cached, and the program continues.
        let _ = raw.info().serialize().and_then(|bytes| cache.write(&entry, &bytes));
        Ok((raw, ids))
    }

    /// Returns the inputs of a compilation other than the program as text, for the key of the cache.
    fn fingerprint(&self, options: &CompileOptions, ids: &[i32]) -> Result<String> {
        let kinds: Vec<&str> = self.devices.iter().map(Device::kind).collect();
        let processor = if self.platform_name == "cpu" { cache::processor() } else { String::new() };
        let path = self.raw.api().path();
        let build = path.metadata().map(|file| (file.len(), file.modified().ok()));
        Ok(format!(
            "{} {} {:?} {:?}\n{:?} {ids:?} {kinds:?} {}\n{processor}",
            self.platform_name,
            self.platform_version()?,
            self.raw.api().version(),
            build.map_err(RuntimeError::io(path))?,
            options,
            self.devices.len(),
        ))
    }

    /// Sets a cache of executables: a program that was compiled before with the same plugin, options and devices is loaded from the cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<CompileCache>) -> Client {
        self.cache = Some(cache);
        self
    }

    /// Loads an executable from bytes that [`LoadedExecutable::serialize`] returned, on the devices for which it was compiled. The bytes
    /// must come from the same build of the plugin. The bytes contain code: do not load them from untrusted sources.
    ///
    /// # Errors
    ///
    /// The plugin rejects the bytes.
    pub fn load(&self, executable: &[u8]) -> Result<LoadedExecutable> {
        let raw = RawProgram::load(&self.raw, executable)?;
        let count = raw.devices().len();
        LoadedExecutable::new(raw, (0..count).collect(), count)
    }

    /// Returns whether a buffer is on a device of this client.
    pub(crate) fn has(&self, buffer: &Buffer) -> bool {
        buffer.is_of(&self.raw)
    }

    /// Copies an array to a device. The source may be changed as soon as this function returns.
    ///
    /// # Errors
    ///
    /// The array's data does not have the size of its shape, devices do not support its element type, or the device is out of
    /// memory.
    pub fn buffer_from_host(&self, array: &HostArray, device: &Device) -> Result<Buffer> {
        array.check()?;
        match device.raw.layout(array.shape.len()) {
            Some(layout) => relayout::put(array, &device.raw, layout),
            None => Buffer::new(self.raw.buffer(array, &device.raw)?, device.id()),
        }
    }

    /// Starts copying an array to a device, and returns before the copy is done if the plugin supports that. The array is kept alive until
    /// the plugin has copied it, and must not be changed before that. The same array may be sent to several devices.
    ///
    /// # Errors
    ///
    /// The errors of [`Client::buffer_from_host`]; later errors are returned by any use of the buffer.
    pub fn send(&self, array: impl Into<Arc<HostArray>>, device: &Device) -> Result<Buffer> {
        let array = array.into();
        array.check()?;
        if let Some(layout) = device.raw.layout(array.shape.len()) {
            return relayout::put(&array, &device.raw, layout);
        }
        Buffer::new(self.raw.send(array, &device.raw)?, device.id())
    }
}
