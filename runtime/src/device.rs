//! Devices, and the arrays on them.

use std::sync::Arc;

use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::error::Result;
use crate::ffi::{RawBuffer, RawClient, RawDevice};
use crate::host::HostArray;

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
}

/// An array on a device. Cheap to clone: clones share the device's memory.
#[derive(Clone)]
pub struct Buffer {
    raw: Arc<RawBuffer>,
    dtype: DType,
    shape: Vec<usize>,
    device: i32,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({}{:?})", self.dtype, self.shape)
    }
}

impl Buffer {
    pub(crate) fn new(raw: RawBuffer, device: i32) -> Result<Buffer> {
        let (dtype, shape) = (raw.dtype()?, raw.shape()?);
        Ok(Buffer { raw: Arc::new(raw), dtype, shape, device })
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

    /// Gives the memory back now, also where there are clones: to use any of them is
    /// [`RuntimeError::Deleted`](crate::RuntimeError::Deleted) from then on. A run that reads it goes on.
    ///
    /// # Errors
    ///
    /// The client was given up, or the plugin does not do this.
    pub fn delete(&self) -> Result<()> {
        self.raw.delete()
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
        let data = self.raw.to_host(self.dtype, &self.shape)?;
        Ok(HostArray { dtype: self.dtype, shape: self.shape.clone(), data })
    }
}
