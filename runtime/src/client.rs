//! Clients, their devices, and the arrays on them.

use std::sync::Arc;

use shardc_ir::DType;

use crate::error::{Result, RuntimeError};
use crate::executable::LoadedExecutable;
use crate::ffi::{RawBuffer, RawClient, RawDevice};
use crate::host::HostArray;
use crate::options::CompileOptions;
use crate::plugin::Plugin;

/// The most virtual devices that a client takes: each costs threads and memory, and the plugin has no limit of its
/// own but the machine's end.
const MAX_CPU_DEVICES: usize = 4096;

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

/// A device of a [`Client`].
#[derive(Clone)]
pub struct Device {
    pub(crate) raw: RawDevice,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.raw.kind, self.raw.id)
    }
}

impl Device {
    /// The plugin's number of the device, as in replica groups and device assignments.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.raw.id
    }

    /// What the plugin calls this kind of device: `cpu`, `TPU v5 lite`, `NVIDIA H100`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.raw.kind
    }
}

impl Client {
    /// Starts a client of a plugin.
    ///
    /// # Errors
    ///
    /// No devices are asked for or found, or the plugin does not know an option.
    pub fn new(plugin: &Plugin, options: ClientOptions) -> Result<Client> {
        let mut values = Vec::new();
        if let Some(count) = options.cpu_device_count {
            if count == 0 || count > MAX_CPU_DEVICES {
                return Err(RuntimeError::Argument(format!(
                    "{count} virtual devices: a client takes 1 to {MAX_CPU_DEVICES}"
                )));
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
            return Err(RuntimeError::Argument(format!(
                "the program is for {wanted} devices and {} are given (the client has {})",
                ids.len(),
                self.devices.len()
            )));
        }
        if let Some(unknown) = ids.iter().find(|id| !self.devices.iter().any(|device| device.id() == **id)) {
            return Err(RuntimeError::Argument(format!("the client has no device {unknown}")));
        }
        let raw = self.raw.compile(program, &options.encode(&ids)).map_err(as_compile_error)?;
        LoadedExecutable::new(raw)
    }

    /// Copies an array to a device.
    ///
    /// # Errors
    ///
    /// The array's data does not have the size that its shape asks for, its element type does not exist on devices,
    /// or the device is out of memory.
    pub fn buffer_from_host(&self, array: &HostArray, device: &Device) -> Result<Buffer> {
        array.check()?;
        let dims: Vec<i64> = array
            .shape
            .iter()
            .map(|&n| i64::try_from(n).map_err(|_| RuntimeError::Argument(format!("a dimension of {n}"))))
            .collect::<Result<_>>()?;
        let raw = self.raw.buffer(
            &array.data,
            buffer_type(array.dtype, self.raw.api().version().1)?,
            &dims,
            &device.raw,
        )?;
        Buffer::new(raw)
    }
}

/// An array on a device. Cheap to clone: clones share the device's memory.
#[derive(Clone)]
pub struct Buffer {
    raw: Arc<RawBuffer>,
    dtype: DType,
    shape: Vec<usize>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({}{:?})", self.dtype, self.shape)
    }
}

impl Buffer {
    pub(crate) fn new(raw: RawBuffer) -> Result<Buffer> {
        let dtype = dtype_of(raw.element_type()?)?;
        let shape = raw
            .dims()?
            .into_iter()
            .map(|n| {
                usize::try_from(n).map_err(|_| RuntimeError::Protocol {
                    call: "PJRT_Buffer_Dimensions",
                    what: format!("a dimension of {n}"),
                })
            })
            .collect::<Result<_>>()?;
        Ok(Buffer { raw: Arc::new(raw), dtype, shape })
    }

    pub(crate) fn raw(&self) -> &RawBuffer {
        &self.raw
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Sizes of the dimensions.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Waits until the content is there.
    ///
    /// # Errors
    ///
    /// What should have made the content failed.
    pub fn wait(&self) -> Result<()> {
        self.raw.wait()
    }

    /// Copies the array to the host; waits for its content.
    ///
    /// # Errors
    ///
    /// What should have made the content failed.
    pub fn to_host(&self) -> Result<HostArray> {
        let size = HostArray::byte_size(self.dtype, &self.shape)?;
        let data = self.raw.to_host(self.shape.len(), size)?;
        Ok(HostArray { dtype: self.dtype, shape: self.shape.clone(), data })
    }
}

/// An error of a compilation, apart from those of the plugin's set-up.
pub(crate) fn as_compile_error(error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Pjrt { code, message, .. } => RuntimeError::Compile { code, message },
        other => other,
    }
}

/// Element types, their numbers in `PJRT_Buffer_Type`, and the minor version of the C API that surely has the number.
/// A plugin that is older may crash when it meets it.
const BUFFER_TYPES: &[(DType, i32, i32)] = &[
    (DType::I1, 1, 0),
    (DType::I8, 2, 0),
    (DType::I16, 3, 0),
    (DType::I32, 4, 0),
    (DType::I64, 5, 0),
    (DType::UI8, 6, 0),
    (DType::UI16, 7, 0),
    (DType::UI32, 8, 0),
    (DType::UI64, 9, 0),
    (DType::F16, 10, 0),
    (DType::F32, 11, 0),
    (DType::F64, 12, 0),
    (DType::BF16, 13, 0),
    (DType::C64, 14, 0),
    (DType::C128, 15, 0),
    (DType::F8E5M2, 16, 0),
    (DType::F8E4M3FN, 17, 0),
    (DType::F8E4M3B11FNUZ, 18, 0),
    (DType::F8E5M2FNUZ, 19, 0),
    (DType::F8E4M3FNUZ, 20, 0),
    (DType::I4, 21, 0),
    (DType::UI4, 22, 0),
    (DType::I2, 24, 55),
    (DType::UI2, 25, 55),
    (DType::F8E4M3, 26, 55),
    (DType::F8E3M4, 27, 55),
    (DType::F8E8M0FNU, 28, 63),
    (DType::F4E2M1FN, 29, 63),
    (DType::F6E2M3FN, 32, 117),
    (DType::F6E3M2FN, 33, 117),
];

fn buffer_type(dtype: DType, api_minor: i32) -> Result<i32> {
    BUFFER_TYPES
        .iter()
        .find(|(known, _, since)| *known == dtype && *since <= api_minor)
        .map(|(_, number, _)| *number)
        .ok_or(RuntimeError::ElementType { what: "this plugin's device", dtype: dtype.to_string() })
}

fn dtype_of(number: i32) -> Result<DType> {
    BUFFER_TYPES
        .iter()
        .find(|(_, known, _)| *known == number)
        .map(|(dtype, _, _)| *dtype)
        .ok_or(RuntimeError::ElementType { what: "shardc", dtype: format!("{number} (PJRT's number)") })
}
