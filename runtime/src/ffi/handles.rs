//! Owning wrappers of a client and its objects. Each destroys its object once, keeps alive the objects on which it depends, and may be used
//! from any thread, because the C API allows that for all of them.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shardc_ir::DType;

use super::abi::{self, Call, Structure, named_value};
use super::api::{Api, slice, text};
use super::element_types;
use super::key_values;
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::launcher::Launcher;
use crate::plugin_options::Value;
use crate::processes::Job;

/// The object that a handle keeps alive.
pub(super) trait Owner {
    /// The plugin to which the object belongs.
    fn api(&self) -> &Api;

    /// Returns whether devices may wait forever while they use objects of this owner. If so, these objects must not be destroyed.
    fn is_lost(&self) -> bool;
}

impl Owner for Arc<Api> {
    fn api(&self) -> &Api {
        self
    }

    fn is_lost(&self) -> bool {
        false
    }
}

impl Owner for Arc<RawClient> {
    fn api(&self) -> &Api {
        &self.api
    }

    fn is_lost(&self) -> bool {
        self.launcher.is_lost()
    }
}

/// Declares a handle that owns an object of the C API, and destroys it when it is dropped.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ty), keeps $keep:ident: $keep_ty:ty, via $destroy:ident.$field:ident) => {
        $(#[$doc])*
        pub(crate) struct $name {
            pub(super) ptr: *mut $raw,
            pub(super) $keep: $keep_ty,
        }

        // SAFETY: the C API lets any thread use the object, even several threads at the same time.
        unsafe impl Send for $name {}
        // SAFETY: the C API lets several threads use the object at the same time.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                use $crate::ffi::handles::Owner as _;
                if self.$keep.is_lost() {
                    return;
                }
                let mut arguments = abi::$destroy { $field: self.ptr, ..abi::$destroy::empty() };
                // SAFETY: the handle owns the object and is being dropped. If the call fails, the object leaks; the caller could do nothing
                // about it.
                let _ = unsafe { self.$keep.api().call(&mut arguments) };
            }
        }
    };
}
pub(super) use handle;

handle! {
    /// An event on a client's devices.
    RawEvent(abi::Event), keeps client: Arc<RawClient>, via EventDestroy.event
}
handle! {
    /// An array on one device.
    RawBuffer(abi::Buffer), keeps client: Arc<RawClient>, via BufferDestroy.buffer
}

/// A client of a plugin, which owns a set of devices.
pub(crate) struct RawClient {
    pub(super) ptr: *mut abi::Client,
    api: Arc<Api>,
    /// The queue of launches. If the client was abandoned, its objects are leaked because the plugin still uses them.
    pub(crate) launcher: Launcher,
    launches: AtomicI32,
    /// For each layout that was requested so far, whether transfers that request it really store arrays in it.
    honored: Mutex<BTreeMap<DeviceLayout, bool>>,
}

// SAFETY: the C API lets any thread use a client, even several threads at the same time.
unsafe impl Send for RawClient {}
// SAFETY: the C API lets several threads use a client at the same time.
unsafe impl Sync for RawClient {}

impl Drop for RawClient {
    fn drop(&mut self) {
        // Does not destroy the client: the plugin's destructor waits for all threads, and some threads wait forever for other devices.
        if self.launcher.is_lost() {
            return;
        }
        let mut arguments = abi::ClientDestroy { client: self.ptr, ..abi::ClientDestroy::empty() };
        // SAFETY: every object of the client keeps the client alive, so no object is left, and the client is destroyed once.
        let _ = unsafe { self.api.call(&mut arguments) };
    }
}

/// A device of a client: valid as long as the client is.
#[derive(Clone)]
pub(crate) struct RawDevice {
    pub(super) ptr: *mut abi::Device,
    /// The memory for new buffers; null for the device's default memory.
    pub(super) memory: *mut abi::Memory,
    /// The layout of new buffers; `None` for the plugin's default.
    pub(super) layout: Option<Arc<DeviceLayout>>,
    client: Arc<RawClient>,
    /// The plugin's device ID.
    pub(crate) id: i32,
    /// The plugin's name for this kind of device: `cpu`, `TPU v5 lite`.
    pub(crate) kind: String,
}

/// The plugin's memory statistics of a device, in bytes and numbers of allocations.
pub(crate) struct RawDeviceMemory {
    pub(crate) in_use: i64,
    pub(crate) peak: Option<i64>,
    pub(crate) limit: Option<i64>,
    pub(crate) largest_free: Option<i64>,
    pub(crate) allocations: Option<i64>,
}

impl RawDevice {
    /// The client of the device.
    pub(crate) fn client(&self) -> &Arc<RawClient> {
        &self.client
    }

    /// Returns this device, with its memory of this kind as the memory for new buffers; `None` if it has no such memory.
    pub(crate) fn in_memory(&self, kind: &str) -> Result<Option<RawDevice>> {
        self.client.check()?;
        let api = &self.client.api;
        let mut list = abi::DeviceMemories { device: self.ptr, ..abi::DeviceMemories::empty() };
        // SAFETY: the device, its memories and their list are alive as long as the client.
        let memories = unsafe {
            api.call(&mut list)?;
            slice(list.memories, list.num_memories)
        };
        for &memory in memories {
            // SAFETY: the memory belongs to the device, which is alive as long as the client.
            if unsafe { memory_kind(api, memory) }? == kind {
                return Ok(Some(RawDevice { memory, ..self.clone() }));
            }
        }
        Ok(None)
    }

    /// Returns this device, with this layout for new buffers; `None` is the plugin's default layout.
    pub(crate) fn with_layout(&self, layout: Option<Arc<DeviceLayout>>) -> RawDevice {
        RawDevice { layout, ..self.clone() }
    }

    /// Returns the layout requested for new buffers with `rank` dimensions; `None` for the plugin's default.
    pub(crate) fn layout(&self, rank: usize) -> Option<&Arc<DeviceLayout>> {
        self.layout.as_ref().filter(|layout| layout.rank() == rank)
    }

    /// Returns this device, with its default memory for new buffers.
    pub(crate) fn in_default_memory(&self) -> RawDevice {
        RawDevice { memory: ptr::null_mut(), ..self.clone() }
    }

    /// Whether new buffers use the device's default memory.
    pub(crate) fn uses_default_memory(&self) -> bool {
        self.memory.is_null()
    }

    /// The plugin's memory statistics.
    pub(crate) fn memory_stats(&self) -> Result<RawDeviceMemory> {
        self.client.check()?;
        let mut stats = abi::DeviceMemoryStats { device: self.ptr, ..abi::DeviceMemoryStats::empty() };
        // SAFETY: the device is alive as long as its client is.
        unsafe { self.client.api.call(&mut stats) }?;
        Ok(RawDeviceMemory {
            in_use: stats.bytes_in_use,
            peak: stats.peak_bytes_in_use.get(),
            limit: stats.bytes_limit.get(),
            largest_free: stats.largest_free_block_bytes.get(),
            allocations: stats.num_allocs.get(),
        })
    }
}

// SAFETY: devices are constant data of their client, which the handle keeps alive.
unsafe impl Send for RawDevice {}
// SAFETY: devices are constant data of their client, which the handle keeps alive.
unsafe impl Sync for RawDevice {}

pub(super) fn non_null<T>(call: &'static str, ptr: *mut T) -> Result<*mut T> {
    if ptr.is_null() {
        return Err(RuntimeError::Protocol { call, what: "success and a null pointer".to_owned() });
    }
    Ok(ptr)
}

/// Converts the value of an option to the C API: its type, the value itself, and its number of elements. The result points into `value`.
fn named(value: &Value) -> (c_int, abi::NamedValueUnion, usize) {
    type Union = abi::NamedValueUnion;
    match value {
        Value::Text(text) => (named_value::STRING, Union { string: text.as_ptr().cast() }, text.len()),
        Value::Int(number) => (named_value::INT64, Union { int64: *number }, 1),
        Value::Ints(list) => (named_value::INT64_LIST, Union { int64_list: list.as_ptr() }, list.len()),
        Value::Float(number) => (named_value::FLOAT, Union { float: *number }, 1),
        Value::Bool(yes) => (named_value::BOOL, Union { boolean: *yes }, 1),
    }
}

/// Converts options to the C API. The result points into `options`.
pub(super) fn create_options(options: &[(&str, Value)]) -> Vec<abi::NamedValue> {
    let one = |(name, value): &(&str, Value)| {
        let (kind, value, value_size) = named(value);
        let (name, name_size) = (name.as_ptr().cast(), name.len());
        abi::NamedValue { name, name_size, kind, value, value_size, ..abi::NamedValue::empty() }
    };
    options.iter().map(one).collect()
}

/// Returns the ID and the kind of a device.
///
/// # Safety
///
/// `description` must be alive.
pub(super) unsafe fn describe(api: &Api, description: *mut abi::DeviceDescription) -> Result<(i32, String)> {
    let mut id = abi::DeviceDescriptionId { description, ..abi::DeviceDescriptionId::empty() };
    let mut kind = abi::DeviceDescriptionKind { description, ..abi::DeviceDescriptionKind::empty() };
    // SAFETY: the description is alive, and the string belongs to it.
    unsafe {
        api.call(&mut id)?;
        api.call(&mut kind)?;
        Ok((id.id, text(kind.kind, kind.kind_size)))
    }
}

/// The plugin's name for a kind of memory: `device`, `pinned_host`.
///
/// # Safety
///
/// `memory` must be alive.
unsafe fn memory_kind(api: &Api, memory: *mut abi::Memory) -> Result<String> {
    let mut kind = abi::MemoryKind { memory, ..abi::MemoryKind::empty() };
    // SAFETY: the memory is alive, and the string belongs to it.
    unsafe {
        api.call(&mut kind)?;
        Ok(text(kind.kind, kind.kind_size))
    }
}

impl RawClient {
    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Creates a client with options. In a job of several processes, the plugin finds the plugins of other processes through the key-value
    /// store of `job`.
    pub(crate) fn create(
        api: &Arc<Api>,
        options: &[(&str, Value)],
        job: Option<&Arc<Job>>,
    ) -> Result<RawClient> {
        let options = create_options(options);
        let mut arguments = abi::ClientCreate {
            create_options: options.as_ptr(),
            num_options: options.len(),
            ..abi::ClientCreate::empty()
        };
        if let Some(job) = job {
            let user_arg = key_values::user_arg(job);
            arguments.kv_get_callback = Some(key_values::get);
            arguments.kv_put_callback = Some(key_values::put);
            arguments.kv_try_get_callback = Some(key_values::try_get);
            arguments.kv_get_user_arg = user_arg;
            arguments.kv_put_user_arg = user_arg;
            arguments.kv_try_get_user_arg = user_arg;
        }
        // SAFETY: the options and their names outlive the call, which copies them; the callbacks' argument is never freed.
        unsafe { api.call(&mut arguments) }?;
        Ok(RawClient {
            ptr: non_null(abi::ClientCreate::NAME, arguments.client)?,
            api: api.clone(),
            launcher: Launcher::default(),
            launches: AtomicI32::new(0),
            honored: Mutex::default(),
        })
    }

    /// The name of the platform: `cpu`, `tpu` or `cuda`.
    pub(crate) fn platform_name(&self) -> Result<String> {
        let mut arguments = abi::ClientPlatformName { client: self.ptr, ..abi::ClientPlatformName::empty() };
        // SAFETY: the client is alive, and the string belongs to it.
        unsafe {
            self.api.call(&mut arguments)?;
            Ok(text(arguments.platform_name, arguments.platform_name_size))
        }
    }

    /// The plugin's description of its build, as free text.
    pub(crate) fn platform_version(&self) -> Result<String> {
        let mut arguments =
            abi::ClientPlatformVersion { client: self.ptr, ..abi::ClientPlatformVersion::empty() };
        // SAFETY: the client is alive, and the string belongs to it.
        unsafe {
            self.api.call(&mut arguments)?;
            Ok(text(arguments.platform_version, arguments.platform_version_size))
        }
    }

    /// Returns an error if the client was abandoned, so that no program can run on it any more.
    pub(super) fn check(&self) -> Result<()> {
        self.launcher.check()
    }

    /// Returns whether transfers that request this layout really store arrays in it. `probe` tests it when a layout is first requested.
    pub(crate) fn honors_layout(&self, layout: &DeviceLayout, probe: impl FnOnce() -> bool) -> bool {
        let known = |honored: &Mutex<BTreeMap<DeviceLayout, bool>>| {
            honored.lock().unwrap_or_else(PoisonError::into_inner).get(layout).copied()
        };
        if let Some(known) = known(&self.honored) {
            return known;
        }
        let is_honored = probe();
        self.honored.lock().unwrap_or_else(PoisonError::into_inner).insert(layout.clone(), is_honored);
        is_honored
    }

    /// Returns a launch ID that is unique on this client. Collectives use it to identify their peers.
    pub(super) fn next_launch(&self) -> c_int {
        self.launches.fetch_add(1, Ordering::Relaxed)
    }

    /// The IDs of the devices of all processes.
    pub(crate) fn device_ids(self: &Arc<Self>) -> Result<Vec<i32>> {
        let mut arguments = abi::ClientDevices { client: self.ptr, ..abi::ClientDevices::empty() };
        // SAFETY: the client is alive, and the list belongs to it.
        let devices = unsafe {
            self.api.call(&mut arguments)?;
            slice(arguments.devices, arguments.num_devices)
        };
        // SAFETY: the devices belong to this client.
        devices.iter().map(|&device| unsafe { self.device(device).map(|device| device.id) }).collect()
    }

    /// The devices that this process can use.
    pub(crate) fn devices(self: &Arc<Self>) -> Result<Vec<RawDevice>> {
        let mut arguments =
            abi::ClientAddressableDevices { client: self.ptr, ..abi::ClientAddressableDevices::empty() };
        // SAFETY: the client is alive, and the list belongs to it.
        let devices = unsafe {
            self.api.call(&mut arguments)?;
            slice(arguments.devices, arguments.num_devices)
        };
        // SAFETY: the devices belong to this client.
        devices.iter().map(|&device| unsafe { self.device(device) }).collect()
    }

    /// Wraps a pointer to a device.
    ///
    /// # Safety
    ///
    /// The device must be one of this client.
    pub(super) unsafe fn device(self: &Arc<Self>, ptr: *mut abi::Device) -> Result<RawDevice> {
        let mut arguments = abi::DeviceGetDescription { device: ptr, ..abi::DeviceGetDescription::empty() };
        // SAFETY: the device belongs to this client, and its description to the device.
        let (id, kind) = unsafe {
            self.api.call(&mut arguments)?;
            describe(&self.api, arguments.description)?
        };
        Ok(RawDevice { ptr, memory: std::ptr::null_mut(), layout: None, client: self.clone(), id, kind })
    }
}

impl RawBuffer {
    fn api(&self) -> &Api {
        self.client.api()
    }

    /// The element type.
    pub(crate) fn dtype(&self) -> Result<DType> {
        let mut arguments = abi::BufferElementType { buffer: self.ptr, ..abi::BufferElementType::empty() };
        // SAFETY: the buffer is alive.
        unsafe { self.api().call(&mut arguments) }?;
        element_types::dtype_of(arguments.element_type)
    }

    /// The dimension sizes.
    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        let mut arguments = abi::BufferDimensions { buffer: self.ptr, ..abi::BufferDimensions::empty() };
        // SAFETY: the buffer is alive, and the list belongs to it.
        let dims = unsafe {
            self.api().call(&mut arguments)?;
            slice(arguments.dims, arguments.num_dims)
        };
        let size = |&n: &i64| {
            usize::try_from(n).map_err(|_| RuntimeError::Protocol {
                call: abi::BufferDimensions::NAME,
                what: format!("a dimension of {n}"),
            })
        };
        dims.iter().map(size).collect()
    }

    /// The kind of memory that contains the buffer.
    pub(crate) fn memory_kind(&self) -> Result<String> {
        self.client.check()?;
        let mut arguments = abi::BufferMemory { buffer: self.ptr, ..abi::BufferMemory::empty() };
        // SAFETY: the buffer is alive, and its memory is alive as long as the client.
        unsafe {
            self.api().call(&mut arguments)?;
            memory_kind(self.api(), arguments.memory)
        }
    }

    /// Copies the buffer to the memory of `device` that is selected for new buffers.
    pub(crate) fn copy_to(&self, device: &RawDevice) -> Result<RawBuffer> {
        self.client.check()?;
        let mut arguments = abi::BufferCopyToMemory {
            buffer: self.ptr,
            dst_memory: device.memory,
            ..abi::BufferCopyToMemory::empty()
        };
        // SAFETY: the buffer is alive, and the memory is alive as long as the client, which the device keeps.
        unsafe { self.api().call(&mut arguments) }?;
        let ptr = non_null(abi::BufferCopyToMemory::NAME, arguments.dst_buffer)?;
        Ok(RawBuffer { ptr, client: self.client.clone() })
    }

    /// Returns whether the buffer belongs to this client.
    pub(crate) fn is_of(&self, client: &Arc<RawClient>) -> bool {
        Arc::ptr_eq(&self.client, client)
    }

    /// Frees the memory now, even if the buffer has other owners.
    pub(crate) fn delete(&self) -> Result<()> {
        self.client.check()?;
        let mut arguments = abi::BufferDelete { buffer: self.ptr, ..abi::BufferDelete::empty() };
        // SAFETY: the buffer is alive; an execution that reads it keeps the memory until it is done.
        unsafe { self.api().call(&mut arguments) }
    }

    /// Returns an error if the memory was freed.
    pub(crate) fn check_deleted(&self) -> Result<()> {
        let mut arguments = abi::BufferIsDeleted { buffer: self.ptr, ..abi::BufferIsDeleted::empty() };
        // SAFETY: the buffer is alive.
        unsafe { self.api().call(&mut arguments) }?;
        if arguments.is_deleted { Err(RuntimeError::Deleted) } else { Ok(()) }
    }

    /// Returns whether the buffer's content is available, or the execution that produces it has failed.
    pub(crate) fn is_ready(&self) -> Result<bool> {
        self.client.check()?;
        self.check_deleted()?;
        let mut arguments = abi::BufferReadyEvent { buffer: self.ptr, ..abi::BufferReadyEvent::empty() };
        // SAFETY: the buffer is alive.
        unsafe { self.api().call(&mut arguments) }?;
        if arguments.event.is_null() {
            return Ok(true);
        }
        let event = RawEvent { ptr: arguments.event, client: self.client.clone() };
        let mut ready = abi::EventIsReady { event: event.ptr, ..abi::EventIsReady::empty() };
        // SAFETY: the event is alive until its handle is dropped.
        unsafe { self.api().call(&mut ready) }?;
        Ok(ready.is_ready)
    }

    /// Waits until the buffer's content is available, or the execution that produces it has failed.
    pub(crate) fn wait(&self) -> Result<()> {
        self.client.check()?;
        self.check_deleted()?;
        let mut arguments = abi::BufferReadyEvent { buffer: self.ptr, ..abi::BufferReadyEvent::empty() };
        // SAFETY: the buffer is alive; the event is created for this call and finished here.
        unsafe {
            self.api().call(&mut arguments)?;
            self.api().finish_event(arguments.event)
        }
    }

    /// Copies the content to the host, row-major; `shape` and `dtype` are the expected type of the buffer.
    pub(crate) fn to_host(&self, dtype: DType, shape: &[usize]) -> Result<Vec<u8>> {
        self.client.check()?;
        self.check_deleted()?;
        let expected_size = HostArray::byte_size(dtype, shape)?;
        if self.shape()?.len() != shape.len() {
            return Err(RuntimeError::Argument(format!(
                "cannot read an array of rank {} as shape {shape:?}",
                self.shape()?.len()
            )));
        }
        // The CPU plugin does not transpose: it copies the buffer's bytes, whatever dimension order is requested. So the order in which the
        // buffer is stored is requested, and the host transposes.
        let rank = shape.len();
        let order = self.layout()?.unwrap_or_else(|| DeviceLayout::row_major(rank));
        let minor_to_major: Vec<i64> = order.minor_to_major().iter().map(|&dim| dim as i64).collect();
        let mut layout = abi::MemoryLayout {
            tiled: abi::TiledLayout {
                minor_to_major: minor_to_major.as_ptr(),
                minor_to_major_size: minor_to_major.len(),
                ..abi::TiledLayout::empty()
            },
            kind: abi::LAYOUT_TILED,
            ..abi::MemoryLayout::empty()
        };
        let mut arguments = abi::BufferToHostBuffer {
            buffer: self.ptr,
            host_layout: &raw mut layout,
            ..abi::BufferToHostBuffer::empty()
        };
        // SAFETY: the buffer is alive and has `rank` dimensions; without a destination the call returns the required size.
        unsafe { self.api().call(&mut arguments) }?;
        if arguments.destination_size != expected_size {
            return Err(RuntimeError::Protocol {
                call: abi::BufferToHostBuffer::NAME,
                what: format!("{} bytes for an array of {expected_size} bytes", arguments.destination_size),
            });
        }
        let mut data = vec![0u8; expected_size];
        arguments.destination = data.as_mut_ptr().cast::<c_void>();
        arguments.event = ptr::null_mut();
        // SAFETY: the destination has the size that the plugin requested, and lives until the event is ready.
        unsafe {
            self.api().call(&mut arguments)?;
            self.api().finish_event(arguments.event)?;
        }
        order.to_row_major(dtype, shape, data)
    }
}

/// The handles store C `int`s as `i32`, so the sizes must be equal.
const _: () = assert!(size_of::<c_int>() == 4);
