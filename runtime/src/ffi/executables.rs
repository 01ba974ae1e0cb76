//! Executables: compilation, queries, and programs that are ready to run.

use std::sync::Arc;

use super::abi::{self, Call, Structure, named_value};
use super::api::{Api, slice, text};
use super::handles::{Owner, RawClient, RawDevice, create_options, describe, handle, non_null};
use crate::error::{Result, RuntimeError};
use crate::plugin_options::Value;
use crate::processes::Job;

/// The name of the format in which programs are passed to the plugin: MLIR, as text or bytecode.
const FORMAT: &[u8] = b"mlir";

handle! {
    /// An executable loaded on a client's devices.
    RawLoadedExecutable(abi::LoadedExecutable), keeps client: Arc<RawClient>, via LoadedExecutableDestroy.executable
}
handle! {
    /// A compiled program, whether or not it is loaded on devices.
    RawExecutable(abi::Executable), keeps origin: Origin, via ExecutableDestroy.executable
}
handle! {
    /// A topology: a description of devices, which need not exist.
    RawTopology(abi::TopologyDescription), keeps api: Arc<Api>, via TopologyDestroy.topology
}

/// The object for which an executable was compiled, which must outlive it.
pub(super) enum Origin {
    /// The executable was obtained from this loaded executable, which keeps its client alive.
    Loaded(Arc<RawLoadedExecutable>),
    /// The topology for which the executable was compiled.
    Topology(Arc<RawTopology>),
}

impl Owner for Origin {
    fn api(&self) -> &Api {
        match self {
            Origin::Loaded(loaded) => loaded.client.api(),
            Origin::Topology(topology) => &topology.api,
        }
    }

    fn is_lost(&self) -> bool {
        match self {
            Origin::Loaded(loaded) => loaded.client.is_lost(),
            Origin::Topology(_) => false,
        }
    }
}

/// A program that is ready to run on devices of a client, with the data that a launch needs.
pub(crate) struct RawProgram {
    pub(super) loaded: Arc<RawLoadedExecutable>,
    info: RawExecutable,
    devices: Vec<RawDevice>,
    num_outputs: usize,
    across: Option<Across>,
}

/// The data for launches of a program that runs in several processes. Each process has the devices of its own client, and cross-process
/// collectives call functions of the process.
#[derive(Clone)]
pub(crate) struct Across {
    /// The job to which this process belongs.
    pub(crate) job: Arc<Job>,
    /// A hash of the text of the program, by which processes check that they run the same program.
    pub(crate) program: u64,
    /// The index of this process's first device among all devices of the program.
    pub(crate) first_device: u32,
}

/// The compiler's memory statistics, in bytes on one device.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawMemoryStats {
    pub(crate) generated_code: i64,
    pub(crate) argument: i64,
    pub(crate) output: i64,
    pub(crate) alias: i64,
    pub(crate) temp: i64,
    pub(crate) peak: i64,
    pub(crate) host_argument: i64,
    pub(crate) host_output: i64,
    pub(crate) host_alias: i64,
    pub(crate) host_temp: i64,
}

/// Creates the C structure of a program in MLIR. `code` must outlive it.
fn program(code: &[u8]) -> abi::Program {
    abi::Program {
        // The pointer is not const in C because functions that return a program write through it; compilation only reads it.
        code: code.as_ptr().cast_mut().cast(),
        code_size: code.len(),
        format: FORMAT.as_ptr().cast(),
        format_size: FORMAT.len(),
        ..abi::Program::empty()
    }
}

impl RawProgram {
    /// Compiles MLIR for a client's devices; `options` is an encoded `CompileOptionsProto`.
    pub(crate) fn compile(client: &Arc<RawClient>, code: &[u8], options: &[u8]) -> Result<RawProgram> {
        let program = program(code);
        let mut arguments = abi::ClientCompile {
            client: client.ptr,
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..abi::ClientCompile::empty()
        };
        // SAFETY: the client is alive; the program and options outlive the call, which does not keep them.
        unsafe { client.api().call(&mut arguments) }?;
        RawProgram::of(client, non_null(abi::ClientCompile::NAME, arguments.executable)?)
    }

    /// Loads an executable from the bytes that [`RawExecutable::serialize`] returned.
    pub(crate) fn load(client: &Arc<RawClient>, bytes: &[u8]) -> Result<RawProgram> {
        let mut arguments = abi::ExecutableLoad {
            client: client.ptr,
            bytes: bytes.as_ptr().cast(),
            bytes_size: bytes.len(),
            ..abi::ExecutableLoad::empty()
        };
        // SAFETY: the client is alive; the bytes outlive the call, which does not keep them.
        unsafe { client.api().call(&mut arguments) }?;
        RawProgram::of(client, non_null(abi::ExecutableLoad::NAME, arguments.executable)?)
    }

    fn of(client: &Arc<RawClient>, ptr: *mut abi::LoadedExecutable) -> Result<RawProgram> {
        let loaded = Arc::new(RawLoadedExecutable { ptr, client: client.clone() });
        let info = loaded.executable()?;
        let num_outputs = info.num_outputs()?;
        let devices = loaded.devices()?;
        Ok(RawProgram { loaded, info, devices, num_outputs, across: None })
    }

    /// Marks the program as one process's part of a program that runs in several processes.
    pub(crate) fn across(self, across: Across) -> RawProgram {
        RawProgram { across: Some(across), ..self }
    }

    /// Returns the data for launches in several processes; `None` for a program that runs in one process.
    pub(super) fn processes(&self) -> Option<&Across> {
        self.across.as_ref()
    }

    /// The client on whose devices the program runs.
    pub(crate) fn client(&self) -> &Arc<RawClient> {
        &self.loaded.client
    }

    /// The executable, for queries.
    pub(crate) fn info(&self) -> &RawExecutable {
        &self.info
    }

    /// The devices on which the program runs, in the order of argument lists.
    pub(crate) fn devices(&self) -> &[RawDevice] {
        &self.devices
    }

    /// The number of results.
    pub(crate) fn num_outputs(&self) -> usize {
        self.num_outputs
    }
}

impl RawLoadedExecutable {
    /// The underlying executable, for queries.
    fn executable(self: &Arc<Self>) -> Result<RawExecutable> {
        let mut arguments = abi::LoadedExecutableGetExecutable {
            loaded: self.ptr,
            ..abi::LoadedExecutableGetExecutable::empty()
        };
        // SAFETY: the executable is alive; the caller owns the returned one.
        unsafe { self.client.api().call(&mut arguments) }?;
        let ptr = non_null(abi::LoadedExecutableGetExecutable::NAME, arguments.executable)?;
        Ok(RawExecutable { ptr, origin: Origin::Loaded(self.clone()) })
    }

    /// The devices on which the executable runs, in the order of argument lists.
    fn devices(&self) -> Result<Vec<RawDevice>> {
        let mut arguments =
            abi::LoadedExecutableDevices { executable: self.ptr, ..abi::LoadedExecutableDevices::empty() };
        // SAFETY: the executable is alive, and the list belongs to it.
        let devices = unsafe {
            self.client.api().call(&mut arguments)?;
            slice(arguments.devices, arguments.num_devices)
        };
        // SAFETY: an executable runs on devices of its client.
        devices.iter().map(|&device| unsafe { self.client.device(device) }).collect()
    }
}

impl RawExecutable {
    pub(super) fn api(&self) -> &Api {
        self.origin.api()
    }

    /// The number of results of the program.
    fn num_outputs(&self) -> Result<usize> {
        let mut arguments =
            abi::ExecutableNumOutputs { executable: self.ptr, ..abi::ExecutableNumOutputs::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api().call(&mut arguments) }?;
        Ok(arguments.num_outputs)
    }

    /// The size of the machine code in bytes.
    pub(crate) fn code_size(&self) -> Result<i64> {
        let mut arguments =
            abi::ExecutableCodeSize { executable: self.ptr, ..abi::ExecutableCodeSize::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api().call(&mut arguments) }?;
        Ok(arguments.size_in_bytes)
    }

    /// The compiler's memory statistics.
    pub(crate) fn memory_stats(&self) -> Result<RawMemoryStats> {
        let mut a =
            abi::ExecutableMemoryStats { executable: self.ptr, ..abi::ExecutableMemoryStats::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.api().call(&mut a) }?;
        Ok(RawMemoryStats {
            generated_code: a.generated_code,
            argument: a.argument,
            output: a.output,
            alias: a.alias,
            temp: a.temp,
            peak: a.peak_memory,
            host_argument: a.host_argument,
            host_output: a.host_output,
            host_alias: a.host_alias,
            host_temp: a.host_temp,
        })
    }

    /// The properties of the compiler's cost analysis, by name.
    pub(crate) fn cost_analysis(&self) -> Result<Vec<(String, f64)>> {
        let mut arguments =
            abi::ExecutableCostAnalysis { executable: self.ptr, ..abi::ExecutableCostAnalysis::empty() };
        // SAFETY: the executable is alive, and the properties belong to it.
        let properties = unsafe {
            self.api().call(&mut arguments)?;
            named_values(arguments.properties, arguments.num_properties)?
        };
        Ok(properties
            .into_iter()
            .filter_map(|property| {
                // SAFETY: the name belongs to the executable; `kind` gives the field of the union that is set.
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

    /// The optimized program, and the name of its format (`hlo`, `hlo_with_config`, `mlir`).
    pub(crate) fn optimized_program(&self) -> Result<(String, Vec<u8>)> {
        let mut program = abi::Program::empty();
        let mut arguments = abi::ExecutableOptimizedProgram {
            executable: self.ptr,
            program: &raw mut program,
            ..abi::ExecutableOptimizedProgram::empty()
        };
        // SAFETY: since `code` is null, the call only fills in the size and the format, which is constant text of the plugin.
        unsafe { self.api().call(&mut arguments) }?;
        // SAFETY: `format` points to text of this length.
        let format = unsafe { text(program.format, program.format_size) };
        let mut code = vec![0u8; program.code_size];
        program.code = code.as_mut_ptr().cast();
        arguments.program = &raw mut program;
        // SAFETY: `code` has the size that the first call returned.
        unsafe { self.api().call(&mut arguments) }?;
        code.truncate(program.code_size);
        Ok((format, code))
    }

    /// The executable as bytes that the same plugin can load again.
    pub(crate) fn serialize(&self) -> Result<Vec<u8>> {
        let mut arguments =
            abi::ExecutableSerialize { executable: self.ptr, ..abi::ExecutableSerialize::empty() };
        // SAFETY: the executable is alive; the bytes live until the deleter is called, after they have been copied.
        unsafe {
            self.api().call(&mut arguments)?;
            let bytes = slice(arguments.bytes.cast::<u8>(), arguments.bytes_size).to_vec();
            if let Some(deleter) = arguments.deleter {
                deleter(arguments.serialized);
            }
            Ok(bytes)
        }
    }
}

/// Returns the elements of a C array of named values. Every element starts with its size. An element may be larger than
/// [`abi::NamedValue`], because newer plugins add fields.
///
/// # Errors
///
/// An element is smaller than the fields that every version has.
///
/// # Safety
///
/// `start` must be null or point to `count` named values, each as long as its size field says, which live for `'a`.
unsafe fn named_values<'a>(start: *const abi::NamedValue, count: usize) -> Result<Vec<&'a abi::NamedValue>> {
    if start.is_null() || count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the first element begins with its size in every version.
    let size = unsafe { *start.cast::<usize>() };
    if size < size_of::<abi::NamedValue>() {
        return Err(RuntimeError::Protocol {
            call: abi::ExecutableCostAnalysis::NAME,
            what: format!("a `PJRT_NamedValue` of {size} bytes, expected {}", size_of::<abi::NamedValue>()),
        });
    }
    // The size of an element does not include padding after its last field, but the distance between elements of a C array is rounded up to
    // the alignment.
    let stride = size.next_multiple_of(align_of::<abi::NamedValue>());
    // SAFETY: elements are `stride` bytes apart, and each has at least the fields of `NamedValue`.
    Ok((0..count).map(|i| unsafe { &*start.byte_add(i * stride) }).collect())
}

impl RawTopology {
    /// Creates a description of devices from the plugin's topology name, such as `v5e:4x4`, and options.
    pub(crate) fn create(api: &Arc<Api>, name: &str, options: &[(&str, Value)]) -> Result<RawTopology> {
        let options = create_options(options);
        let mut arguments = abi::TopologyCreate {
            name: name.as_ptr().cast(),
            name_size: name.len(),
            create_options: options.as_ptr(),
            num_options: options.len(),
            ..abi::TopologyCreate::empty()
        };
        // SAFETY: the name, the options and their names outlive the call, which copies them.
        unsafe { api.call(&mut arguments) }?;
        Ok(RawTopology { ptr: non_null(abi::TopologyCreate::NAME, arguments.topology)?, api: api.clone() })
    }

    /// The ID and the kind of each device.
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
    pub(crate) fn compile(self: &Arc<Self>, code: &[u8], options: &[u8]) -> Result<RawExecutable> {
        let program = program(code);
        let mut arguments = abi::Compile {
            topology: self.ptr,
            program: &raw const program,
            compile_options: options.as_ptr().cast(),
            compile_options_size: options.len(),
            ..abi::Compile::empty()
        };
        // SAFETY: the topology is alive; the program and options outlive the call, which does not keep them; no client is needed.
        unsafe { self.api.call(&mut arguments) }?;
        let ptr = non_null(abi::Compile::NAME, arguments.executable)?;
        Ok(RawExecutable { ptr, origin: Origin::Topology(self.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(words: &[usize], count: usize) -> Result<Vec<usize>> {
        // SAFETY: the callers pass `count` elements of the size in the first of them.
        let values = unsafe { named_values(words.as_ptr().cast(), count) }?;
        Ok(values.iter().map(|value| value.value_size).collect())
    }

    /// Elements of a plugin that is newer than these definitions may be larger.
    #[test]
    fn named_values_use_their_size_as_stride() {
        let element = |size: usize, words: usize, mark: usize| {
            let mut element = vec![0; words];
            (element[0], element[6]) = (size, mark);
            element
        };
        assert_eq!(size_of::<abi::NamedValue>(), 7 * size_of::<usize>());
        assert_eq!(sizes(&[element(56, 7, 1), element(56, 7, 2)].concat(), 2).unwrap(), [1, 2]);
        assert_eq!(sizes(&[element(72, 9, 1), element(72, 9, 2)].concat(), 2).unwrap(), [1, 2]);
        // The size of these elements, 57 bytes, is not a multiple of the alignment.
        assert_eq!(sizes(&[element(57, 8, 1), element(57, 8, 2)].concat(), 2).unwrap(), [1, 2]);
        assert_eq!(sizes(&element(0, 7, 1), 1).unwrap_err().code(), "RT0203");
        assert_eq!(sizes(&[], 0).unwrap(), Vec::<usize>::new());
    }
}
