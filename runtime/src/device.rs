//! Devices, and arrays on them.

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
    /// The plugin's device ID, as in replica groups and device assignments.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.raw.id
    }

    /// The plugin's name for this kind of device: `cpu`, `TPU v5 lite`, `NVIDIA H100`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.raw.kind
    }

    /// Returns this device, except that new arrays on it are placed in its memory of kind `kind` instead of the default memory.
    /// `pinned_host` is host memory that the device accesses directly.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NotAvailable`] (RT0206) if the device has no memory of that kind.
    pub fn in_memory(&self, kind: &str) -> Result<Device> {
        match self.raw.in_memory(kind)? {
            Some(raw) => Ok(Device { raw }),
            None => {
                Err(RuntimeError::NotAvailable { what: "memory of this kind", kind: self.kind().to_owned() })
            }
        }
    }

    /// Returns this device, except that new arrays with as many dimensions as `layout` are stored in this layout. Other arrays are stored
    /// in the plugin's default layout. Elements keep their indices: only their order in memory changes.
    #[must_use]
    pub fn with_layout(&self, layout: Arc<DeviceLayout>) -> Device {
        Device { raw: self.raw.with_layout(Some(layout)) }
    }

    /// The plugin's memory statistics of the device.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NotAvailable`] (RT0206) if the plugin has no such statistics; the CPU plugin has none.
    pub fn memory_stats(&self) -> Result<DeviceMemory> {
        let stats = self.raw.memory_stats().map_err(|error| match error {
            RuntimeError::Pjrt { code: PjrtCode::UNIMPLEMENTED, .. } | RuntimeError::PluginLacks { .. } => {
                RuntimeError::NotAvailable { what: "device memory statistics", kind: self.kind().to_owned() }
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

/// A device's current memory statistics, as the plugin reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes in use.
    pub in_use: u64,
    /// The peak of bytes in use. This field and the following fields are `None` if the plugin does not report the number.
    pub peak: Option<u64>,
    /// Bytes that can be allocated in total.
    pub limit: Option<u64>,
    /// Bytes of the largest free block.
    pub largest_free: Option<u64>,
    /// The number of allocations.
    pub allocations: Option<u64>,
}

/// An array on a device. Cheap to clone: clones share the device's memory. Its content may still be computed or transferred.
#[derive(Clone)]
pub struct Buffer {
    /// The execution that produces the content; `None` if no execution produces it.
    flight: Option<Arc<Flight>>,
    raw: Arc<RawBuffer>,
    dtype: DType,
    shape: Vec<usize>,
    device: i32,
    /// The layout; `None` for the plugin's default layout of this element type and shape.
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

    /// Wraps a result of a launch on the device with ID `device`.
    pub(crate) fn of_launch(raw: RawBuffer, device: i32, flight: &Arc<Flight>) -> Result<Buffer> {
        Ok(Buffer { flight: Some(flight.clone()), ..Buffer::new(raw, device)? })
    }

    /// Records `layout` as the layout in which the plugin stored this array; `None` is the plugin's default layout. No data is copied.
    pub(crate) fn in_layout(self, layout: Option<Arc<DeviceLayout>>) -> Buffer {
        Buffer { layout, ..self }
    }

    /// Returns the memory layout; `None` for the plugin's default layout of this element type and shape.
    #[must_use]
    pub fn device_layout(&self) -> Option<&Arc<DeviceLayout>> {
        self.layout.as_ref()
    }

    /// Returns the layout as the plugin reports it; `None` if the plugin reports no layout.
    pub(crate) fn reported_layout(&self) -> Result<Option<DeviceLayout>> {
        self.raw.layout()
    }

    /// Returns the launch that produces the content; `None` if no launch produces it.
    pub(crate) fn flight(&self) -> Option<&Arc<Flight>> {
        self.flight.as_ref()
    }

    pub(crate) fn into_raw(self) -> Arc<RawBuffer> {
        self.raw
    }

    pub(crate) fn is_of(&self, client: &Arc<RawClient>) -> bool {
        self.raw.is_of(client)
    }

    /// The ID of the device of this array, as [`Device::id`].
    #[must_use]
    pub fn device_id(&self) -> i32 {
        self.device
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimension sizes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Element type and shape.
    #[must_use]
    pub fn ty(&self) -> ArrayType {
        ArrayType { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// The kind of memory that contains the array: `device`, `pinned_host`.
    ///
    /// # Errors
    ///
    /// The client was abandoned, or the plugin does not report the memory of arrays.
    pub fn memory_kind(&self) -> Result<String> {
        self.raw.memory_kind()
    }

    /// Returns a copy of this array in another kind of memory of `device`, its device. Waits for the content of this array.
    ///
    /// # Errors
    ///
    /// The execution or transfer that produces the content failed; the device has no such memory, or not enough of it; the plugin does not
    /// support the copy.
    pub fn copied_to(&self, device: &Device, kind: &str) -> Result<Buffer> {
        self.wait()?;
        let there = device.in_memory(kind)?;
        // Plugins copy arrays from one memory to another, but not within one memory.
        if self.memory_kind()? != kind {
            let copy = Buffer::new(self.raw.copy_to(&there.raw)?, self.device)?;
            return Ok(copy.in_layout(self.layout.clone()));
        }
        self.copied_in(&there, self.layout.as_ref())
    }

    /// Returns a copy of this array on `device`, stored in `layout`; `None` is the plugin's default layout. The elements are copied through
    /// the host.
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

    /// Frees the memory now, even if there are clones: any later use of a clone returns [`RuntimeError::Deleted`]. An execution that
    /// already reads the buffer is not affected.
    ///
    /// # Errors
    ///
    /// The client was abandoned, or the plugin does not support freeing memory early.
    pub fn delete(&self) -> Result<()> {
        self.raw.delete()
    }

    /// Whether the content is available. Does not wait.
    ///
    /// # Errors
    ///
    /// The error of the execution or transfer that produces the content; [`RuntimeError::Deleted`].
    pub fn is_ready(&self) -> Result<bool> {
        match self.flight.as_ref().map(|flight| flight.outcome()) {
            Some(None) => self.raw.check_deleted().map(|()| false),
            Some(Some(Err(error))) => Err(error),
            Some(Some(Ok(()))) | None => self.raw.is_ready(),
        }
    }

    /// Waits until the content is available.
    ///
    /// # Errors
    ///
    /// The error of the execution or transfer that produces the content; [`RuntimeError::Deleted`].
    pub fn wait(&self) -> Result<()> {
        self.wait_for_run()?;
        self.raw.wait()
    }

    /// Waits for the execution that produces the content. This wait has a time limit, unlike a wait for the buffer itself.
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
    /// The errors of [`Buffer::wait`].
    pub fn to_host(&self) -> Result<HostArray> {
        self.wait_for_run()?;
        let data = self.raw.to_host(self.dtype, &self.shape)?;
        Ok(HostArray { dtype: self.dtype, shape: self.shape.clone(), data })
    }
}
