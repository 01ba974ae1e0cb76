//! Compiled programs: execution, and the compiler's statistics.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::array_type::ArrayType;
use crate::device::relayout;
use crate::device::{Buffer, Device};
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};
use crate::execution::Execution;
use crate::ffi::{self, LaunchOptions, RawExecutable, RawProgram};
use crate::hlo::{self, Collectives};
use crate::mismatch::{self, Mismatch};
use crate::placement::Placement;
use crate::signature;

/// The compiler's memory statistics of a program: bytes on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// The size of the machine code.
    pub generated_code_bytes: u64,
    /// The size of the arguments.
    pub argument_bytes: u64,
    /// The size of the results, including those that alias arguments.
    pub output_bytes: u64,
    /// The size of the results that alias arguments.
    pub alias_bytes: u64,
    /// The size of the temporary buffers.
    pub temp_bytes: u64,
    /// The peak of live memory; 0 if the compiler does not report it.
    pub peak_bytes: u64,
    /// The size of the arguments, temporaries, and results that alias no argument, as far as they are in host memory.
    pub host_bytes: u64,
}

/// The compiler's estimate of a program's work on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// The number of floating-point operations. The body of a loop is counted once, regardless of the trip count.
    pub flops: f64,
    /// The number of bytes read and written. The body of a loop is counted once, regardless of the trip count.
    pub bytes_accessed: f64,
    /// All statistics of the compiler, keyed by the compiler's names.
    pub properties: BTreeMap<String, f64>,
}

/// Options of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecuteOptions {
    /// The time limit of the execution, counted from the end of earlier executions; `None` waits forever.
    pub time_limit: Option<Duration>,
    /// The indices of the arguments that may be donated, if the program marks them as donated, too. An argument that has a clone is not
    /// donated: the program gets a copy.
    pub donate: Vec<usize>,
    /// The maximum number of executions in flight on the client, at least one. If this number is reached, the host waits before it starts
    /// another one, so that queued executions do not fill the devices' memory.
    pub in_flight: usize,
}

impl ExecuteOptions {
    /// The default number of executions in flight: the devices compute one, and the next is queued.
    pub const IN_FLIGHT: usize = 2;
}

impl Default for ExecuteOptions {
    /// The default options: a time limit of half an hour, no donation, two executions in flight.
    fn default() -> Self {
        let time_limit = Some(Duration::from_secs(30 * 60));
        ExecuteOptions { time_limit, donate: Vec::new(), in_flight: ExecuteOptions::IN_FLIGHT }
    }
}

/// A program compiled for its devices. Cheap to clone; usable from any thread.
///
/// An execution starts on all devices or on none: conditions that the plugin would reject are checked first. Executions on one client start
/// one after the other. See [`LoadedExecutable::execute_with`] for executions that hang.
#[derive(Clone)]
pub struct LoadedExecutable {
    raw: Arc<RawProgram>,
    placement: Arc<Placement>,
    /// The types of the program's parameters, computed on first use; the inner value is `None` if the plugin does not report them.
    parameters: Arc<OnceLock<Option<Vec<ArrayType>>>>,
    /// The layouts of the program's parameters, computed on first use; the inner value is `None` if they are unknown.
    parameter_layouts: Arc<OnceLock<Option<Layouts>>>,
    /// The layouts of the program's results, known after the first execution.
    result_layouts: Arc<OnceLock<Layouts>>,
}

/// The layout of each array in a list; `None` for the client's default.
type Layouts = Vec<Option<Arc<DeviceLayout>>>;

impl std::fmt::Debug for LoadedExecutable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedExecutable")
            .field("devices", &self.devices())
            .field("num_outputs", &self.num_outputs())
            .finish()
    }
}

impl LoadedExecutable {
    /// Wraps a program; `places` are the positions of its devices among `count` devices, some of which may belong to other processes.
    pub(crate) fn new(raw: RawProgram, places: Vec<usize>, count: usize) -> Result<LoadedExecutable> {
        let devices: Vec<Device> = raw.devices().iter().map(|raw| Device { raw: raw.clone() }).collect();
        let placement = Arc::new(Placement::new(devices, places, count)?);
        Ok(LoadedExecutable {
            raw: Arc::new(raw),
            placement,
            parameters: Arc::default(),
            parameter_layouts: Arc::default(),
            result_layouts: Arc::default(),
        })
    }

    /// The devices of this process on which the program runs, in the order of the argument lists of [`LoadedExecutable::execute`].
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        self.placement.devices()
    }

    /// The devices of [`LoadedExecutable::devices`] with their positions among all devices of the program, in all processes.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The number of results.
    #[must_use]
    pub fn num_outputs(&self) -> usize {
        self.raw.num_outputs()
    }

    /// Returns the types of the program's parameters on each device, read from the optimized program on the first call. `None` if the
    /// plugin does not provide that program in a format that shardc can read.
    #[must_use]
    pub fn parameters(&self) -> Option<&[ArrayType]> {
        let look = || {
            let (format, program) = self.info().optimized_program().ok()?;
            signature::parameters(&format, &program)
        };
        self.parameters.get_or_init(look).as_deref()
    }

    /// Sets the types of the program's parameters on each device, for a caller that knows them, so that the plugin is not queried.
    pub fn set_parameters(&self, parameters: Vec<ArrayType>) {
        let _ = self.parameters.set(Some(parameters));
    }

    /// Returns the memory layout of each parameter on a device; the inner `None` is the client's default layout for its type. Arguments in
    /// a different layout are copied at launch. `types` are the parameters' types, from [`LoadedExecutable::parameters`]. The outer `None`
    /// means that neither the plugin nor the optimised program reports layouts.
    ///
    /// # Errors
    ///
    /// The plugin's call fails.
    pub fn parameter_layouts(&self, types: &[ArrayType]) -> Result<Option<&[Option<Arc<DeviceLayout>>]>> {
        if let Some(known) = self.parameter_layouts.get() {
            return Ok(known.as_deref());
        }
        let found = match self.info().parameter_layouts()? {
            Some(found) => Some(found),
            None => self
                .info()
                .optimized_program()
                .ok()
                .and_then(|(format, program)| signature::parameter_layouts(&format, &program)),
        };
        let layouts = match found {
            // The number of `types` differs from the number of the program's parameters, so the layouts are unknown.
            Some(found) if found.len() != types.len() => return Ok(None),
            Some(found) => {
                let found = found.into_iter().map(Some);
                Some(relayout::unlike_default(self.raw.client(), types, found)?)
            }
            None => None,
        };
        Ok(self.parameter_layouts.get_or_init(|| layouts).as_deref())
    }

    /// Copies the arguments whose layout differs from the layout that the program expects. Plugins compare only the sizes of arguments, so
    /// they would misread an array in a different layout.
    fn in_layouts(&self, arguments: Vec<Vec<Buffer>>) -> Result<Vec<Vec<Buffer>>> {
        let known = match self.parameter_layouts.get() {
            Some(known) => known.as_deref(),
            None => {
                let types: Vec<ArrayType> = arguments.iter().take(1).flatten().map(Buffer::ty).collect();
                self.parameter_layouts(&types)?
            }
        };
        let Some(expected) = known else { return Ok(arguments) };
        if arguments.iter().any(|list| list.len() != expected.len()) {
            return Ok(arguments);
        }
        let is_default = |buffer: &Buffer| buffer.device_layout().is_none();
        if expected.iter().all(Option::is_none) && arguments.iter().flatten().all(is_default) {
            return Ok(arguments);
        }
        let adapt = |(buffer, (expected, device)): (Buffer, (&Option<Arc<DeviceLayout>>, &Device))| {
            if buffer.device_layout().is_none() && expected.is_none() {
                return Ok(buffer);
            }
            let ty = buffer.ty();
            let concrete = |layout: Option<&Arc<DeviceLayout>>| match layout {
                Some(layout) => Ok(DeviceLayout::clone(layout)),
                None => relayout::default_layout(self.raw.client(), &ty),
            };
            let (from, to) = (concrete(buffer.device_layout())?, concrete(expected.as_ref())?);
            if from.has_same_order(&to, &ty.shape) {
                return Ok(buffer);
            }
            // An array in pinned host memory is copied to pinned host memory. All other arguments are in the device's default memory.
            let kind = buffer.memory_kind().ok().filter(|kind| kind == "pinned_host");
            let there = kind.map(|kind| device.in_memory(&kind)).transpose()?;
            buffer.copied_in(there.as_ref().unwrap_or(device), expected.as_ref())
        };
        let devices = arguments.into_iter().zip(self.devices());
        devices
            .map(|(list, device)| {
                let wanted = expected.iter().map(|layout| (layout, device));
                list.into_iter().zip(wanted).map(adapt).collect()
            })
            .collect()
    }

    /// Returns the layouts of the program's results, from the results of the first execution on one device.
    fn result_layouts(&self, results: &[Buffer]) -> Result<&[Option<Arc<DeviceLayout>>]> {
        if let Some(known) = self.result_layouts.get() {
            return Ok(known);
        }
        let types: Vec<ArrayType> = results.iter().map(Buffer::ty).collect();
        let found: Vec<_> = results.iter().map(Buffer::reported_layout).collect::<Result<_>>()?;
        let layouts = relayout::unlike_default(self.raw.client(), &types, found)?;
        Ok(self.result_layouts.get_or_init(|| layouts))
    }

    /// Runs the program on all its devices and waits until all are done, half an hour at most.
    ///
    /// `arguments[d][i]` is argument `i`, on device `d` of [`LoadedExecutable::devices`]; results are returned in the same form. No
    /// argument is donated, so all stay valid.
    ///
    /// # Errors
    ///
    /// The errors of [`LoadedExecutable::execute_with`].
    pub fn execute(&self, arguments: &[Vec<Buffer>]) -> Result<Vec<Vec<Buffer>>> {
        self.execute_with(arguments.to_vec(), &ExecuteOptions::default())
    }

    /// Runs the program on all its devices and waits until all are done; `arguments` as for [`LoadedExecutable::execute`].
    ///
    /// # Errors
    ///
    /// - [`RuntimeError::Inputs`] with every argument that is missing, superfluous, of the wrong type or on the wrong device. In this case
    ///   nothing is started.
    /// - The error of a device that failed. The error is returned when the other devices are done, or after a few seconds if they wait for
    ///   the failed device.
    /// - [`RuntimeError::TimeLimit`] with the finished and unfinished devices.
    ///
    /// After a timeout, and if devices still wait for a failed device, the client is abandoned, because PJRT cannot stop a program. Each
    /// later execution on the client returns [`RuntimeError::ClientLost`], and its memory and threads are not freed. The CPU plugin ends
    /// the process when a device has waited for others for 40 s; [`crate::plugin::quiet_plugin_logs`] disables that.
    pub fn execute_with(
        &self,
        arguments: Vec<Vec<Buffer>>,
        options: &ExecuteOptions,
    ) -> Result<Vec<Vec<Buffer>>> {
        let options = ExecuteOptions { in_flight: usize::MAX, ..options.clone() };
        let (results, execution) = self.launch(arguments, &options)?;
        execution.wait()?;
        Ok(results)
    }

    /// Starts the program on all its devices and returns before they are done: the content of the results may not be available yet. Results
    /// can be passed to other programs; reading a result waits for its content. `arguments` as for [`LoadedExecutable::execute`].
    ///
    /// If [`ExecuteOptions::in_flight`] executions are in flight, this function first waits until one is finished. Plugins may run cheap
    /// programs to completion before this function returns. The arguments may be dropped at once. If one of several executions in flight
    /// fails, the client may be abandoned, because devices that run the next execution wait for the devices that failed.
    ///
    /// # Errors
    ///
    /// - The errors of [`LoadedExecutable::execute_with`] that are found before anything is started.
    /// - The error of the execution that produces an argument, if it failed.
    /// - [`RuntimeError::TimeLimit`] if the maximum number of executions stays in flight for the whole time limit.
    ///
    /// Later errors are returned by [`Execution::wait`] and by reads of the results.
    pub fn launch(
        &self,
        arguments: Vec<Vec<Buffer>>,
        options: &ExecuteOptions,
    ) -> Result<(Vec<Vec<Buffer>>, Execution)> {
        self.check(&arguments)?;
        let arguments = self.in_layouts(arguments)?;
        let mut parents = Vec::new();
        for flight in arguments.iter().flatten().filter_map(Buffer::flight) {
            match flight.outcome() {
                Some(outcome) => outcome?,
                None if parents.iter().any(|known| Arc::ptr_eq(known, flight)) => {}
                None => parents.push(flight.clone()),
            }
        }
        let lists = arguments.into_iter().map(|list| list.into_iter().map(Buffer::into_raw).collect());
        let (donated, limit, in_flight) = (&options.donate, options.time_limit, options.in_flight);
        let options = LaunchOptions { donated, limit, in_flight, parents };
        let launch = ffi::launch(&self.raw, lists.collect(), options)?;
        let owned = |(list, device): (Vec<_>, &Device)| {
            let result = |raw| Buffer::of_launch(raw, device.id(), &launch.flight);
            let buffers = list.into_iter().map(result).collect::<Result<Vec<_>>>()?;
            let layouts = self.result_layouts(&buffers)?;
            let stored = |(buffer, layout): (Buffer, &Option<_>)| buffer.in_layout(layout.clone());
            Ok(buffers.into_iter().zip(layouts).map(stored).collect::<Vec<_>>())
        };
        let results = launch.results.into_iter().zip(self.devices()).map(owned).collect::<Result<_>>()?;
        Ok((results, Execution { flight: launch.flight, waited: launch.waited }))
    }

    /// Compares arguments with the program's parameters. Returns an error with all mismatches.
    fn check(&self, arguments: &[Vec<Buffer>]) -> Result<()> {
        let Some(parameters) = self.parameters() else { return Ok(()) };
        let mut wrong: Vec<Mismatch> = Vec::new();
        for (device, list) in self.devices().iter().zip(arguments) {
            let given: Vec<ArrayType> = list.iter().map(Buffer::ty).collect();
            let on_device = mismatch::compare(parameters, &given).into_iter();
            wrong.extend(on_device.map(|found| found.on_device(device.id())));
            let elsewhere = list.iter().enumerate().filter(|(_, b)| b.device_id() != device.id());
            wrong
                .extend(elsewhere.map(|(i, buffer)| Mismatch::elsewhere(i, device.id(), buffer.device_id())));
        }
        RuntimeError::unless_fitting(wrong, parameters.len())
    }

    /// The compiler's memory statistics of the program.
    ///
    /// # Errors
    ///
    /// The plugin has no statistics.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        memory_stats(self.info())
    }

    /// The compiler's estimate of the program's work.
    ///
    /// # Errors
    ///
    /// The plugin has no estimate.
    pub fn cost(&self) -> Result<Cost> {
        cost(self.info())
    }

    /// The collectives of the optimized program.
    ///
    /// # Errors
    ///
    /// The plugin does not provide the program, or not in a form that shardc can read.
    pub fn optimized_hlo_collectives(&self) -> Result<Collectives> {
        Ok(hlo_summary(self.info(), self.placement.count())?.collectives)
    }

    /// The executable as bytes that the same plugin can load again.
    ///
    /// # Errors
    ///
    /// The plugin cannot serialize this executable.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        self.info().serialize()
    }

    pub(crate) fn info(&self) -> &RawExecutable {
        self.raw.info()
    }
}

/// Converts a size of the C API, which is signed, to an unsigned number. Negative numbers, which may mean "unknown", become 0.
fn unsigned(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

pub(crate) fn memory_stats(executable: &RawExecutable) -> Result<MemoryStats> {
    let stats = executable.memory_stats()?;
    let code = if stats.generated_code > 0 {
        stats.generated_code
    } else {
        // The CPU plugin omits the code size from the statistics, so another function is called. If that call fails, too, the size is 0.
        executable.code_size().unwrap_or(0)
    };
    let host_bytes = unsigned(stats.host_argument)
        .saturating_add(unsigned(stats.host_output).saturating_sub(unsigned(stats.host_alias)))
        .saturating_add(unsigned(stats.host_temp));
    let on_device =
        unsigned(stats.argument).saturating_add(unsigned(stats.output)).saturating_add(unsigned(stats.temp));
    let peak = match unsigned(stats.peak) {
        // libtpu 0.0.51 includes host memory in the peak of device memory, so the host memory is subtracted.
        peak if host_bytes > 0 => peak.saturating_sub(host_bytes).min(on_device),
        peak => peak,
    };
    Ok(MemoryStats {
        generated_code_bytes: unsigned(code),
        argument_bytes: unsigned(stats.argument),
        output_bytes: unsigned(stats.output),
        alias_bytes: unsigned(stats.alias),
        temp_bytes: unsigned(stats.temp),
        peak_bytes: peak,
        host_bytes,
    })
}

pub(crate) fn cost(executable: &RawExecutable) -> Result<Cost> {
    let properties: BTreeMap<String, f64> = executable.cost_analysis()?.into_iter().collect();
    let get = |name: &str| properties.get(name).copied().unwrap_or(0.0);
    Ok(Cost { flops: get("flops"), bytes_accessed: get("bytes accessed"), properties })
}

pub(crate) fn hlo_summary(executable: &RawExecutable, devices: usize) -> Result<hlo::Summary> {
    let (format, program) = executable.optimized_program()?;
    hlo::summary(&format, &program, devices)
}
