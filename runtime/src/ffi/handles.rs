//! Owning wrappers of the API's objects: each destroys its object once, keeps alive what it depends on, and may be
//! used from any thread, because the C API allows that for all of them.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::abi::{self, Call, Structure, named_value};
use super::api::{Api, slice, text};
use crate::error::{Result, RuntimeError};

/// Format of the programs that shardc hands over: MLIR text or bytecode.
const FORMAT: &[u8] = b"mlir";

/// Declares a handle and what destroys it.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ty), keeps $keep:ident: $keep_ty:ty, via $destroy:ident.$field:ident) => {
        $(#[$doc])*
        pub(crate) struct $name {
            ptr: *mut $raw,
            $keep: $keep_ty,
        }

        // SAFETY: the C API lets any thread use the object, one at a time or several at once.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                let mut arguments = abi::$destroy { $field: self.ptr, ..abi::$destroy::empty() };
                // SAFETY: the handle owns the object and dies here. A failure to destroy leaks, and is nobody's
                // to act on.
                let _ = unsafe { self.api().call(&mut arguments) };
            }
        }
    };
}

handle! {
    /// A client: one set of devices.
    RawClient(abi::Client), keeps api: Arc<Api>, via ClientDestroy.client
}
handle! {
    /// An array on one device.
    RawBuffer(abi::Buffer), keeps client: Arc<RawClient>, via BufferDestroy.buffer
}
handle! {
    /// An executable that is loaded on a client's devices.
    RawLoadedExecutable(abi::LoadedExecutable), keeps client: Arc<RawClient>, via LoadedExecutableDestroy.executable
}
handle! {
    /// An executable, loaded or not.
    RawExecutable(abi::Executable), keeps api: Arc<Api>, via ExecutableDestroy.executable
}
handle! {
    /// Devices that need not be there.
    RawTopology(abi::TopologyDescription), keeps api: Arc<Api>, via TopologyDestroy.topology
}

/// A device of a client: valid as long as the client is.
#[derive(Clone)]
pub(crate) struct RawDevice {
    ptr: *mut abi::Device,
    client: Arc<RawClient>,
    /// The plugin's number of the device.
    pub(crate) id: i32,
    /// What the plugin calls this kind of device: `cpu`, `TPU v5 lite`.
    pub(crate) kind: String,
}

// SAFETY: devices are constant data of their client, which the handle keeps alive.
unsafe impl Send for RawDevice {}
// SAFETY: as above.
unsafe impl Sync for RawDevice {}

/// What the compiler says of memory, in bytes on one device.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawMemoryStats {
    pub(crate) generated_code: i64,
    pub(crate) argument: i64,
    pub(crate) output: i64,
    pub(crate) alias: i64,
    pub(crate) temp: i64,
    pub(crate) peak: i64,
}

/// The program structure for MLIR in `code`, which must outlive it.
fn program(code: &[u8]) -> abi::Program {
    abi::Program {
        // The API's field is not const because other functions write through it; compilation reads.
        code: code.as_ptr().cast_mut().cast(),
        code_size: code.len(),
        format: FORMAT.as_ptr().cast(),
        format_size: FORMAT.len(),
        ..abi::Program::empty()
    }
}

fn non_null<T>(call: &'static str, ptr: *mut T) -> Result<*mut T> {
    if ptr.is_null() {
        return Err(RuntimeError::Protocol { call, what: "success and a null pointer".to_owned() });
    }
    Ok(ptr)
}

/// Number and kind of a device.
///
/// # Safety
///
/// `description` must be alive.
unsafe fn describe(api: &Api, description: *mut abi::DeviceDescription) -> Result<(i32, String)> {
    let mut id = abi::DeviceDescriptionId { description, ..abi::DeviceDescriptionId::empty() };
    let mut kind = abi::DeviceDescriptionKind { description, ..abi::DeviceDescriptionKind::empty() };
    // SAFETY: the description is alive, and the string belongs to it.
    unsafe {
        api.call(&mut id)?;
        api.call(&mut kind)?;
        Ok((id.id, text(kind.kind, kind.kind_size)))
    }
}

impl RawClient {
    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Creates a client with integer options.
    pub(crate) fn create(api: &Arc<Api>, options: &[(&str, i64)]) -> Result<RawClient> {
        let options: Vec<abi::NamedValue> = options
            .iter()
            .map(|(name, value)| abi::NamedValue {
                name: name.as_ptr().cast(),
                name_size: name.len(),
                kind: named_value::INT64,
                value: abi::NamedValueUnion { int64: *value },
                value_size: 1,
                ..abi::NamedValue::empty()
            })
            .collect();
        let mut arguments = abi::ClientCreate {
            create_options: options.as_ptr(),
            num_options: options.len(),
            ..abi::ClientCreate::empty()
        };
        // SAFETY: the options and their names outlive the call, which copies them; no callbacks are given.
        unsafe { api.call(&mut arguments) }?;
        Ok(RawClient { ptr: non_null(abi::ClientCreate::NAME, arguments.client)?, api: api.clone() })
    }

    /// `cpu`, `tpu`, `cuda`.
    pub(crate) fn platform_name(&self) -> Result<String> {
        let mut arguments = abi::ClientPlatformName { client: self.ptr, ..abi::ClientPlatformName::empty() };
        // SAFETY: the client is alive, and the string belongs to it.
        unsafe {
            self.api.call(&mut arguments)?;
            Ok(text(arguments.platform_name, arguments.platform_name_size))
        }
    }

    /// Free text about the plugin's build.
    pub(crate) fn platform_version(&self) -> Result<String> {
        let mut arguments =
            abi::ClientPlatformVersion { client: self.ptr, ..abi::ClientPlatformVersion::empty() };
        // SAFETY: the client is alive, and the string belongs to it.
        unsafe {
            self.api.call(&mut arguments)?;
            Ok(text(arguments.platform_version, arguments.platform_version_size))
        }
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
        devices.iter().map(|&device| self.device(device)).collect()
    }

    fn device(self: &Arc<Self>, ptr: *mut abi::Device) -> Result<RawDevice> {
        let mut arguments = abi::DeviceGetDescription { device: ptr, ..abi::DeviceGetDescription::empty() };
        // SAFETY: the device belongs to this client, and its description to the device.
        let (id, kind) = unsafe {
            self.api.call(&mut arguments)?;
            describe(&self.api, arguments.description)?
        };
        Ok(RawDevice { ptr, client: self.clone(), id, kind })
    }

    /// Compiles MLIR for this client's devices; `options` is an encoded `CompileOptionsProto`.
    pub(crate) fn compile(self: &Arc<Self>, code: &[u8], options: &[u8]) -> Result<RawLoadedExecutable> {
        let program = program(code);
        let mut arguments = abi::ClientCompile {
            client: self.ptr,
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..abi::ClientCompile::empty()
        };
        // SAFETY: the client is alive; program and options outlive the call, which keeps neither.
        unsafe { self.api.call(&mut arguments) }?;
        let ptr = non_null(abi::ClientCompile::NAME, arguments.executable)?;
        Ok(RawLoadedExecutable { ptr, client: self.clone() })
    }

    /// Copies dense row-major `data` to a device. `data` must have the size that type and shape ask for.
    pub(crate) fn buffer(
        self: &Arc<Self>,
        data: &[u8],
        element_type: i32,
        dims: &[i64],
        device: &RawDevice,
    ) -> Result<RawBuffer> {
        if !Arc::ptr_eq(self, &device.client) {
            return Err(RuntimeError::Argument("the device belongs to another client".to_owned()));
        }
        let mut arguments = abi::ClientBufferFromHostBuffer {
            client: self.ptr,
            data: data.as_ptr().cast(),
            element_type,
            dims: dims.as_ptr(),
            num_dims: dims.len(),
            host_buffer_semantics: abi::COPY_DURING_CALL,
            device: device.ptr,
            ..abi::ClientBufferFromHostBuffer::empty()
        };
        // SAFETY: client and device are alive; the caller vouches for the size of `data`, and it stays in place
        // until the event says that the plugin is done with it.
        unsafe { self.api.call(&mut arguments) }?;
        let buffer = non_null(abi::ClientBufferFromHostBuffer::NAME, arguments.buffer)?;
        let buffer = RawBuffer { ptr: buffer, client: self.clone() };
        // SAFETY: the event was made for this call, and is given up here.
        unsafe { self.api.finish_event(arguments.done_with_host_buffer) }?;
        Ok(buffer)
    }
}

impl RawBuffer {
    fn api(&self) -> &Arc<Api> {
        &self.client.api
    }

    /// The plugin's number of the element type.
    pub(crate) fn element_type(&self) -> Result<i32> {
        let mut arguments = abi::BufferElementType { buffer: self.ptr, ..abi::BufferElementType::empty() };
        // SAFETY: the buffer is alive.
        unsafe { self.api().call(&mut arguments) }?;
        Ok(arguments.element_type)
    }

    /// Sizes of the dimensions.
    pub(crate) fn dims(&self) -> Result<Vec<i64>> {
        let mut arguments = abi::BufferDimensions { buffer: self.ptr, ..abi::BufferDimensions::empty() };
        // SAFETY: the buffer is alive, and the list belongs to it.
        unsafe {
            self.api().call(&mut arguments)?;
            Ok(slice(arguments.dims, arguments.num_dims).to_vec())
        }
    }

    /// Waits until the buffer's content is there, or until what should have made it has failed.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut arguments = abi::BufferReadyEvent { buffer: self.ptr, ..abi::BufferReadyEvent::empty() };
        // SAFETY: the buffer is alive; the event is made for this call, and given up here.
        unsafe {
            self.api().call(&mut arguments)?;
            self.api().finish_event(arguments.event)
        }
    }

    /// Copies the content to the host, row-major, as `expected_size` bytes of `rank` dimensions.
    pub(crate) fn to_host(&self, rank: usize, expected_size: usize) -> Result<Vec<u8>> {
        // A device may lay an array out as it likes; ask for row-major.
        let minor_to_major: Vec<i64> = (0..rank as i64).rev().collect();
        let mut layout = abi::MemoryLayout {
            tiled: abi::TiledLayout {
                minor_to_major: minor_to_major.as_ptr(),
                minor_to_major_size: rank,
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
        // SAFETY: the buffer is alive; without a destination the call answers the size that it needs.
        unsafe { self.api().call(&mut arguments) }?;
        if arguments.destination_size != expected_size {
            return Err(RuntimeError::Protocol {
                call: abi::BufferToHostBuffer::NAME,
                what: format!("{} bytes for an array of {expected_size}", arguments.destination_size),
            });
        }
        let mut data = vec![0u8; expected_size];
        arguments.destination = data.as_mut_ptr().cast::<c_void>();
        arguments.event = ptr::null_mut();
        // SAFETY: the destination has the size that the plugin asked for, and lives until the event says that the
        // copy is done.
        unsafe {
            self.api().call(&mut arguments)?;
            self.api().finish_event(arguments.event)?;
        }
        Ok(data)
    }
}

impl RawLoadedExecutable {
    fn api(&self) -> &Arc<Api> {
        &self.client.api
    }

    /// The executable behind it, for questions.
    pub(crate) fn executable(&self) -> Result<RawExecutable> {
        let mut arguments = abi::LoadedExecutableGetExecutable {
            loaded: self.ptr,
            ..abi::LoadedExecutableGetExecutable::empty()
        };
        // SAFETY: the executable is alive; the one returned is owned by the caller.
        unsafe { self.api().call(&mut arguments) }?;
        let ptr = non_null(abi::LoadedExecutableGetExecutable::NAME, arguments.executable)?;
        Ok(RawExecutable { ptr, api: self.api().clone() })
    }

    /// The devices it runs on, in the order of argument lists.
    pub(crate) fn devices(&self) -> Result<Vec<RawDevice>> {
        let mut arguments =
            abi::LoadedExecutableDevices { executable: self.ptr, ..abi::LoadedExecutableDevices::empty() };
        // SAFETY: the executable is alive, and the list belongs to it.
        let devices = unsafe {
            self.api().call(&mut arguments)?;
            slice(arguments.devices, arguments.num_devices)
        };
        devices.iter().map(|&device| self.client.device(device)).collect()
    }

    /// Runs the program on all its devices at once and waits for all of them.
    ///
    /// `arguments[device][i]`; each list has the same length. `outputs` is the program's number of results.
    pub(crate) fn execute(
        &self,
        arguments: &[Vec<&RawBuffer>],
        outputs: usize,
    ) -> Result<Vec<Vec<RawBuffer>>> {
        let devices = arguments.len();
        let count = arguments.first().map_or(0, Vec::len);
        if arguments.iter().any(|list| list.len() != count) {
            return Err(RuntimeError::Argument("devices got different numbers of arguments".to_owned()));
        }
        if arguments.iter().flatten().any(|buffer| !Arc::ptr_eq(&buffer.client, &self.client)) {
            return Err(RuntimeError::Argument("an argument belongs to another client".to_owned()));
        }
        let lists: Vec<Vec<*mut abi::Buffer>> =
            arguments.iter().map(|list| list.iter().map(|buffer| buffer.ptr).collect()).collect();
        let list_ptrs: Vec<*const *mut abi::Buffer> = lists.iter().map(Vec::as_ptr).collect();
        let mut results: Vec<Vec<*mut abi::Buffer>> = vec![vec![ptr::null_mut(); outputs]; devices];
        let result_ptrs: Vec<*mut *mut abi::Buffer> = results.iter_mut().map(Vec::as_mut_ptr).collect();
        let mut events: Vec<*mut abi::Event> = vec![ptr::null_mut(); devices];
        // Arguments stay valid after the run even where the program says that it may overwrite them: a caller that
        // keeps a buffer must not find it gone.
        let keep: Vec<i64> = (0..count as i64).collect();
        let mut options = abi::ExecuteOptions {
            non_donatable_input_indices: keep.as_ptr(),
            num_non_donatable_input_indices: keep.len(),
            ..abi::ExecuteOptions::empty()
        };
        let mut call = abi::LoadedExecutableExecute {
            executable: self.ptr,
            options: &raw mut options,
            argument_lists: list_ptrs.as_ptr(),
            num_devices: devices,
            num_args: count,
            output_lists: result_ptrs.as_ptr(),
            device_complete_events: events.as_mut_ptr(),
            ..abi::LoadedExecutableExecute::empty()
        };
        // SAFETY: lists are thin pointers to as many entries as the counts say, result lists have one entry for each
        // of the program's results, and all of it outlives the call and the events.
        let launched = unsafe { self.api().call(&mut call) };
        let mut outcome = launched;
        for event in events {
            // SAFETY: the call made these events for us; one that it did not make is null.
            let finished = unsafe { self.api().finish_event(event) };
            outcome = outcome.and(finished);
        }
        // Wrapped before the outcome is looked at, so that nothing leaks when it is bad.
        let results: Vec<Vec<Option<RawBuffer>>> = results
            .into_iter()
            .map(|list| {
                list.into_iter()
                    .map(|ptr| (!ptr.is_null()).then(|| RawBuffer { ptr, client: self.client.clone() }))
                    .collect()
            })
            .collect();
        outcome?;
        results
            .into_iter()
            .map(|list| list.into_iter().collect::<Option<Vec<_>>>())
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| RuntimeError::Protocol {
                call: abi::LoadedExecutableExecute::NAME,
                what: "success and a missing result".to_owned(),
            })
    }
}

impl RawExecutable {
    fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// How many results the program has.
    pub(crate) fn num_outputs(&self) -> Result<usize> {
        let mut arguments =
            abi::ExecutableNumOutputs { executable: self.ptr, ..abi::ExecutableNumOutputs::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api.call(&mut arguments) }?;
        Ok(arguments.num_outputs)
    }

    /// Bytes of machine code.
    pub(crate) fn code_size(&self) -> Result<i64> {
        let mut arguments =
            abi::ExecutableCodeSize { executable: self.ptr, ..abi::ExecutableCodeSize::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api.call(&mut arguments) }?;
        Ok(arguments.size_in_bytes)
    }

    /// What the compiler says of memory.
    pub(crate) fn memory_stats(&self) -> Result<RawMemoryStats> {
        let mut a =
            abi::ExecutableMemoryStats { executable: self.ptr, ..abi::ExecutableMemoryStats::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api.call(&mut a) }?;
        Ok(RawMemoryStats {
            generated_code: a.generated_code,
            argument: a.argument,
            output: a.output,
            alias: a.alias,
            temp: a.temp,
            peak: a.peak_memory,
        })
    }

    /// The numbers of the compiler's cost analysis, by name.
    pub(crate) fn cost_analysis(&self) -> Result<Vec<(String, f64)>> {
        let mut arguments =
            abi::ExecutableCostAnalysis { executable: self.ptr, ..abi::ExecutableCostAnalysis::empty() };
        // SAFETY: the executable is alive, and the properties belong to it.
        let properties = unsafe {
            self.api.call(&mut arguments)?;
            slice(arguments.properties, arguments.num_properties)
        };
        Ok(properties
            .iter()
            .filter_map(|property| {
                // SAFETY: the name belongs to the executable; `kind` says which field of the union is set.
                unsafe {
                    let value = match property.kind {
                        named_value::FLOAT => f64::from(property.value.float),
                        named_value::INT64 => property.value.int64 as f64,
                        _ => return None,
                    };
                    Some((text(property.name, property.name_size), value))
                }
            })
            .collect())
    }

    /// The program after optimisation, and the name of its format (`hlo`, `hlo_with_config`, `mlir`).
    pub(crate) fn optimized_program(&self) -> Result<(String, Vec<u8>)> {
        let mut program = abi::Program::empty();
        let mut arguments = abi::ExecutableOptimizedProgram {
            executable: self.ptr,
            program: &raw mut program,
            ..abi::ExecutableOptimizedProgram::empty()
        };
        // SAFETY: without `code`, the call fills in the size and the format, which is constant text of the plugin.
        unsafe { self.api.call(&mut arguments) }?;
        // SAFETY: the format is text of that length.
        let format = unsafe { text(program.format, program.format_size) };
        let mut code = vec![0u8; program.code_size];
        program.code = code.as_mut_ptr().cast();
        arguments.program = &raw mut program;
        // SAFETY: `code` has the size that the plugin asked for.
        unsafe { self.api.call(&mut arguments) }?;
        code.truncate(program.code_size);
        Ok((format, code))
    }

    /// The executable as bytes that the same plugin can load again.
    pub(crate) fn serialize(&self) -> Result<Vec<u8>> {
        let mut arguments =
            abi::ExecutableSerialize { executable: self.ptr, ..abi::ExecutableSerialize::empty() };
        // SAFETY: the executable is alive; the bytes live until the deleter is called, after they were copied.
        unsafe {
            self.api.call(&mut arguments)?;
            let bytes = slice(arguments.bytes.cast::<u8>(), arguments.bytes_size).to_vec();
            if let Some(deleter) = arguments.deleter {
                deleter(arguments.serialized);
            }
            Ok(bytes)
        }
    }
}

impl RawTopology {
    fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Devices by the plugin's name for them: `v5e:4x4`.
    pub(crate) fn create(api: &Arc<Api>, name: &str) -> Result<RawTopology> {
        let mut arguments = abi::TopologyCreate {
            name: name.as_ptr().cast(),
            name_size: name.len(),
            ..abi::TopologyCreate::empty()
        };
        // SAFETY: the name outlives the call, which copies it.
        unsafe { api.call(&mut arguments) }?;
        Ok(RawTopology { ptr: non_null(abi::TopologyCreate::NAME, arguments.topology)?, api: api.clone() })
    }

    /// Number and kind of each device.
    pub(crate) fn devices(&self) -> Result<Vec<(i32, String)>> {
        let mut arguments = abi::TopologyDevices { topology: self.ptr, ..abi::TopologyDevices::empty() };
        // SAFETY: the topology is alive, and list and descriptions belong to it.
        unsafe {
            self.api.call(&mut arguments)?;
            slice(arguments.descriptions, arguments.num_descriptions)
                .iter()
                .map(|&description| describe(&self.api, description))
                .collect()
        }
    }

    /// Compiles MLIR for these devices; `options` is an encoded `CompileOptionsProto`.
    pub(crate) fn compile(&self, code: &[u8], options: &[u8]) -> Result<RawExecutable> {
        let program = program(code);
        let mut arguments = abi::Compile {
            topology: self.ptr,
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..abi::Compile::empty()
        };
        // SAFETY: the topology is alive; program and options outlive the call, which keeps neither; no client is
        // needed.
        unsafe { self.api.call(&mut arguments) }?;
        Ok(RawExecutable { ptr: non_null(abi::Compile::NAME, arguments.executable)?, api: self.api.clone() })
    }
}

/// The plugin takes C's `int` where the handles have `i32`.
const _: () = assert!(size_of::<c_int>() == 4);
