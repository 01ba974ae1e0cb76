//! Devices, and the arrays on them.

pub(crate) mod relayout;

use std::sync::Arc;

use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::device_layout::DeviceLayout;
use crate::error::{PjrtCode, Result, RuntimeError};
use crate::ffi::{RawBuffer, RawClient, RawDevice};
use crate::host::HostArray;
use crate::launcher::Flight;

/// A device of a [`Client`](crate::Client).
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

    /// The same device, with what is sent to it in its memory of another kind than it has by default: `pinned_host` is the memory
    /// of the host that it reads and writes by itself.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NotAvailable`] (RT0206) where it has no memory of that kind.
    pub fn in_memory(&self, kind: &str) -> Result<Device> {
        match self.raw.in_memory(kind)? {
            Some(raw) => Ok(Device { raw }),
            None => Err(RuntimeError::NotAvailable {
                what: "memory of another kind",
                kind: self.kind().to_owned(),
            }),
        }
    }

    /// The same device, whose new arrays are stored in this layout if they have as many dimensions; others are stored in the
    /// plugin's default layout. Elements keep their indices: only their order in memory changes.
    #[must_use]
    pub fn with_layout(&self, layout: Arc<DeviceLayout>) -> Device {
        Device { raw: self.raw.with_layout(Some(layout)) }
    }

    /// What the plugin says of the device's memory.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NotAvailable`] (RT0206) where the plugin keeps no such numbers, as the CPU plugin does not.
    pub fn memory_stats(&self) -> Result<DeviceMemory> {
        let stats = self.raw.memory_stats().map_err(|error| match error {
            RuntimeError::Pjrt { code: PjrtCode::UNIMPLEMENTED, .. } | RuntimeError::PluginLacks { .. } => {
                RuntimeError::NotAvailable {
                    what: "memory statistics of a device",
                    kind: self.kind().to_owned(),
                }
            }
            other => other,
        })?;
        let bytes = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(DeviceMemory {
            in_use: bytes(stats.in_use),
            peak: stats.peak.map(bytes),
            limit: stats.limit.map(bytes),
            largest_free: stats.largest_free.map(bytes),
            allocations: stats.allocations.map(bytes),
        })
    }
}

/// What a plugin says of a device's memory, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that are in use.
    pub in_use: u64,
    /// The most bytes that were; `None`, here and below, where the plugin does not say.
    pub peak: Option<u64>,
    /// Bytes that can be had in all.
    pub limit: Option<u64>,
    /// Bytes of the largest piece that is free.
    pub largest_free: Option<u64>,
    /// How often memory was asked for.
    pub allocations: Option<u64>,
}

/// An array on a device. Cheap to clone: clones share the device's memory. Its content may not be there yet.
#[derive(Clone)]
pub struct Buffer {
    /// The run that makes its content.
    flight: Option<Arc<Flight>>,
    raw: Arc<RawBuffer>,
    dtype: DType,
    shape: Vec<usize>,
    device: i32,
    /// How it is stored, where that is not the plugin's default for its type.
    layout: Option<Arc<DeviceLayout>>,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({}{:?})", self.dtype, self.shape)
    }
}

impl Buffer {
    pub(crate) fn new(raw: RawBuffer, device: i32) -> Result<Buffer> {
        let (dtype, shape) = (raw.dtype()?, raw.shape()?);
        Ok(Buffer { flight: None, raw: Arc::new(raw), dtype, shape, device, layout: None })
    }

    /// What a launch leaves on a device.
    pub(crate) fn of_launch(raw: RawBuffer, device: i32, flight: &Arc<Flight>) -> Result<Buffer> {
        Ok(Buffer { flight: Some(flight.clone()), ..Buffer::new(raw, device)? })
    }

    /// The same array, which is stored in this layout; `None` for the plugin's default.
    pub(crate) fn in_layout(self, layout: Option<Arc<DeviceLayout>>) -> Buffer {
        Buffer { layout, ..self }
    }

    /// The layout in which it is stored, where that is not the plugin's default for its type.
    #[must_use]
    pub fn device_layout(&self) -> Option<&Arc<DeviceLayout>> {
        self.layout.as_ref()
    }

    /// How it is stored, as the plugin reports it.
    pub(crate) fn reported_layout(&self) -> Result<Option<DeviceLayout>> {
        self.raw.layout()
    }

    /// The launch that makes its content.
    pub(crate) fn flight(&self) -> Option<&Arc<Flight>> {
        self.flight.as_ref()
    }

    pub(crate) fn into_raw(self) -> Arc<RawBuffer> {
        self.raw
    }

    pub(crate) fn is_of(&self, client: &Arc<RawClient>) -> bool {
        self.raw.is_of(client)
    }

    /// The number of the device that has it, as [`Device::id`].
    #[must_use]
    pub fn device_id(&self) -> i32 {
        self.device
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

    /// Element type and sizes together.
    #[must_use]
    pub fn ty(&self) -> ArrayType {
        ArrayType { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// The kind of the memory that it lies in: `device`, `pinned_host`.
    ///
    /// # Errors
    ///
    /// The client was given up, or the plugin does not say.
    pub fn memory_kind(&self) -> Result<String> {
        self.raw.memory_kind()
    }

    /// A copy in the memory of `kind` of the device that has it. Waits for the content.
    ///
    /// # Errors
    ///
    /// What should have made the content failed; the device has no such memory, or no room in it; the plugin does not do this.
    pub fn copied_to(&self, device: &Device, kind: &str) -> Result<Buffer> {
        self.wait()?;
        let there = device.in_memory(kind)?;
        // Plugins copy from one memory to another, and not within one.
        if self.memory_kind()? != kind {
            let copy = Buffer::new(self.raw.copy_to(&there.raw)?, self.device)?;
            return Ok(copy.in_layout(self.layout.clone()));
        }
        self.copied_in(&there, self.layout.as_ref())
    }

    /// A copy on a device in a layout, or in the plugin's default layout, by way of the host.
    pub(crate) fn copied_in(&self, device: &Device, layout: Option<&Arc<DeviceLayout>>) -> Result<Buffer> {
        let array = self.to_host()?;
        match layout {
            Some(layout) => relayout::put(&array, &device.raw, layout),
            None => {
                let device = device.raw.with_layout(None);
                Buffer::new(device.client().buffer(&array, &device)?, self.device)
            }
        }
    }

    /// Gives the memory back now, also where there are clones: to use any of them is
    /// [`RuntimeError::Deleted`] from then on. A run that reads it goes on.
    ///
    /// # Errors
    ///
    /// The client was given up, or the plugin does not do this.
    pub fn delete(&self) -> Result<()> {
        self.raw.delete()
    }

    /// Whether the content is there. Does not wait.
    ///
    /// # Errors
    ///
    /// What should have made the content failed; [`RuntimeError::Deleted`].
    pub fn is_ready(&self) -> Result<bool> {
        match self.flight.as_ref().map(|flight| flight.outcome()) {
            Some(None) => self.raw.check_deleted().map(|()| false),
            Some(Some(Err(error))) => Err(error),
            Some(Some(Ok(()))) | None => self.raw.is_ready(),
        }
    }

    /// Waits until the content is there.
    ///
    /// # Errors
    ///
    /// What should have made the content failed; [`RuntimeError::Deleted`].
    pub fn wait(&self) -> Result<()> {
        self.wait_for_run()?;
        self.raw.wait()
    }

    /// The run has a time limit, which waiting for the buffer alone has not.
    fn wait_for_run(&self) -> Result<()> {
        let Some(flight) = &self.flight else { return Ok(()) };
        if !flight.is_over() {
            self.raw.check_deleted()?;
        }
        flight.wait()
    }

    /// Copies the array to the host; waits for its content.
    ///
    /// # Errors
    ///
    /// Those of [`Buffer::wait`].
    pub fn to_host(&self) -> Result<HostArray> {
        self.wait_for_run()?;
        let data = self.raw.to_host(self.dtype, &self.shape)?;
        Ok(HostArray { dtype: self.dtype, shape: self.shape.clone(), data })
    }
}
