//! Launches: starting a program on all its devices at once, and waiting for it.
//!
//! # The C API
//!
//! `PJRT_LoadedExecutable_Execute` starts a program on all devices of a process, and returns an event for each device. It may return at
//! once, or only after the program has run (as the CPU plugin does for cheap programs on one device). The caller can wait for an event,
//! without a time limit, or register a callback. A running program cannot be cancelled: a device that waits for another device in a
//! collective keeps waiting.
//!
//! In the CPU plugin, a launch on several devices waits for the previous launch, through an event that becomes ready when every device of
//! the previous launch has started. If the plugin rejects the launch on one device (an argument of the wrong size), that event never
//! becomes ready, and every later launch on the client hangs. If a device waits in a collective for 40 s, the plugin ends the process
//! (`--xla_cpu_collective_call_terminate_timeout_seconds` in `XLA_FLAGS`).
//!
//! # Guarantees of this module
//!
//! The queue of launches, the watchdog and the time limit are implemented in `crate::launcher`, which is independent of plugins.
//!
//! - Callers of [`launch`] first check every condition under which the plugin would reject the launch.
//! - Launches on a client are queued, and a separate thread calls the plugin. So the caller can stop waiting even if the plugin's call or a
//!   device hangs. Each launch has a unique ID, by which collectives identify their peers.
//! - A launch returns when the plugin has started its devices. The outcome of a launch is recorded even if no caller waits for it, and is
//!   returned to callers that wait later. The error of a device, with the device ID, is reported when the other devices are done. If these
//!   devices wait for the failed device, the error is reported after [`GRACE`].
//! - After the time limit, the error lists the finished and unfinished devices. The limit counts from the end of the previous launches.
//! - Arguments are dropped when the plugin has started the devices: it keeps the memory that devices read.
//! - If devices may wait forever, the client is abandoned: later executions on it fail at once. Its objects are leaked, because destroying
//!   them would wait for those devices.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::abi::{self, Call, Structure};
use super::calls::LaunchContext;
use super::executables::{Across, RawProgram};
use super::handles::{RawBuffer, RawEvent};
use crate::error::{Result, RuntimeError};
use crate::launcher::{Flight, Patience, Reporter};

/// The time that devices get to finish after one of them has failed.
const GRACE: Duration = Duration::from_secs(5);

/// The buffers of the arguments: `arguments[device][i]` is argument `i`.
type Arguments = Vec<Vec<Arc<RawBuffer>>>;
/// The buffers of the results: `results[device][i]` is result `i`.
pub(crate) type Results = Vec<Vec<RawBuffer>>;

/// Options of a launch.
pub(crate) struct LaunchOptions<'a> {
    /// The indices of the arguments that the program may overwrite, if their buffers have no other owner.
    pub(crate) donated: &'a [usize],
    /// The time limit of the launch; `None` for no limit.
    pub(crate) limit: Option<Duration>,
    /// The maximum number of launches in flight, including this one.
    pub(crate) in_flight: usize,
    /// The unfinished launches whose results are arguments of this launch.
    pub(crate) parents: Vec<Arc<Flight>>,
}

/// A launch that was started, and may still be in flight.
pub(crate) struct Launch {
    /// The results, whose content may not be available yet.
    pub(crate) results: Results,
    pub(crate) flight: Arc<Flight>,
    /// The time that the launch waited to start, because the maximum number of launches was in flight.
    pub(crate) waited: Duration,
}

/// A queued launch: the data that the launch thread needs to call the plugin.
struct Job {
    program: Arc<RawProgram>,
    arguments: Arguments,
    /// The indices of the arguments that the program must not overwrite.
    kept: Vec<i64>,
    /// The execution context through which custom calls of this process's functions find the launch; `None` in a job of one process.
    context: Option<Arc<LaunchContext>>,
}

/// Starts a program on all its devices at once.
///
/// `arguments[device][i]` is argument `i`, on that device.
///
/// # Errors
///
/// The number of lists or arguments is wrong, an argument belongs to another client, the plugin's launch fails, or the client is
/// abandoned. Later errors of devices are reported by the launch.
pub(crate) fn launch(
    program: &Arc<RawProgram>,
    arguments: Arguments,
    options: LaunchOptions<'_>,
) -> Result<Launch> {
    let client = program.client();
    client.check()?;
    let devices = program.devices().len();
    if arguments.len() != devices {
        return Err(RuntimeError::Argument(format!(
            "the program runs on {devices} devices, but got arguments for {}",
            arguments.len()
        )));
    }
    let count = arguments.first().map_or(0, Vec::len);
    if arguments.iter().any(|list| list.len() != count) {
        return Err(RuntimeError::Argument("devices got different numbers of arguments".to_owned()));
    }
    if arguments.iter().flatten().any(|buffer| !Arc::ptr_eq(&buffer.client, client)) {
        return Err(RuntimeError::Argument("an argument belongs to another client".to_owned()));
    }
    arguments.iter().flatten().try_for_each(|buffer| buffer.check_deleted())?;
    // The plugin takes the memory of donated arguments. If this list is the only owner of a buffer, no other code can use it.
    let is_ours = |i: usize| arguments.iter().all(|list| Arc::strong_count(&list[i]) == 1);
    let is_donated = |i: usize| options.donated.contains(&i) && is_ours(i);
    let kept = (0..count).filter(|&i| !is_donated(i)).map(|i| i as i64).collect();
    let across = program.processes().cloned();
    let begin = |across: &Across| {
        LaunchContext::begin(client.api(), &across.job, across.program, across.first_device).map(Arc::new)
    };
    let context = across.as_ref().map(begin).transpose()?;
    let job = Job { program: program.clone(), arguments, kept, context: context.clone() };
    let ids: Vec<i32> = program.devices().iter().map(|device| device.id).collect();
    let patience = Patience {
        devices: &ids,
        limit: options.limit,
        grace: GRACE,
        call: abi::LoadedExecutableExecute::NAME,
        in_flight: options.in_flight,
        refusal_is_final: client.platform_name().is_ok_and(|name| name == "cpu"),
    };
    let at_end = move |failed: Option<RuntimeError>, is_lost: bool| {
        if is_lost {
            // Leaks the context, because the abandoned program may still use it in custom calls.
            std::mem::forget(context);
        }
        let error = failed?;
        let Some(across) = across else { return Some(error) };
        // If a process was lost, that is the cause of the error, and its error is returned. Otherwise the other processes are notified of
        // the error.
        let lost = across.job.check().err();
        across.job.fail(&error.to_string());
        Some(lost.unwrap_or(error))
    };
    let (give, results) = channel();
    let start = move |reporter: &Reporter| job.launch(reporter, &give);
    let (flight, waited) = client.launcher.launch(&patience, options.parents, Box::new(at_end), start)?;
    let results = results.try_recv().map_err(|_| RuntimeError::Protocol {
        call: abi::LoadedExecutableExecute::NAME,
        what: "nothing".to_owned(),
    })?;
    Ok(Launch { results, flight, waited })
}

impl Job {
    /// Calls the plugin, and registers callbacks that report the completion of each device.
    fn launch(self, reporter: &Reporter, give: &Sender<Results>) {
        let (launched, events) = self.execute();
        // Sending fails if the caller has stopped waiting: then the client is abandoned and the results are leaked.
        let launched = launched.map(|results| _ = give.send(results));
        let is_launched = launched.is_ok();
        reporter.launched(launched);
        if is_launched {
            for (device, event) in events.into_iter().enumerate() {
                watch(reporter, device, event);
            }
        }
    }

    fn execute(&self) -> (Result<Results>, Vec<Option<RawEvent>>) {
        let client = self.program.client();
        let devices = self.arguments.len();
        let lists: Vec<Vec<*mut abi::Buffer>> =
            self.arguments.iter().map(|list| list.iter().map(|buffer| buffer.ptr).collect()).collect();
        let list_ptrs: Vec<*const *mut abi::Buffer> = lists.iter().map(Vec::as_ptr).collect();
        let outputs = self.program.num_outputs();
        let mut results: Vec<Vec<*mut abi::Buffer>> = vec![vec![ptr::null_mut(); outputs]; devices];
        let result_ptrs: Vec<*mut *mut abi::Buffer> = results.iter_mut().map(Vec::as_mut_ptr).collect();
        let mut events: Vec<*mut abi::Event> = vec![ptr::null_mut(); devices];
        let mut options = abi::ExecuteOptions {
            launch_id: client.next_launch(),
            non_donatable_input_indices: self.kept.as_ptr(),
            num_non_donatable_input_indices: self.kept.len(),
            context: self.context.as_ref().map_or(ptr::null_mut(), |context| context.as_ptr()),
            ..abi::ExecuteOptions::empty()
        };
        let mut call = abi::LoadedExecutableExecute {
            executable: self.program.loaded.ptr,
            options: &raw mut options,
            argument_lists: list_ptrs.as_ptr(),
            num_devices: devices,
            num_args: lists.first().map_or(0, Vec::len),
            output_lists: result_ptrs.as_ptr(),
            device_complete_events: events.as_mut_ptr(),
            ..abi::LoadedExecutableExecute::empty()
        };
        // SAFETY: there is one list for each device of the program (`launch` checks this), with `num_args` entries; result lists have one
        // entry for each of the program's results; all of them outlive the call. This job is the only owner of donated arguments.
        let launched = unsafe { client.api().call(&mut call) };
        // Events are wrapped in handles before the outcome is checked, so that they do not leak on an error.
        let events = events
            .into_iter()
            .map(|ptr| (!ptr.is_null()).then(|| RawEvent { ptr, client: client.clone() }))
            .collect();
        let results: Vec<Vec<Option<RawBuffer>>> = results
            .into_iter()
            .map(|list| {
                let wrap = |ptr: *mut abi::Buffer| RawBuffer { ptr, client: client.clone() };
                list.into_iter().map(|ptr| (!ptr.is_null()).then(|| wrap(ptr))).collect()
            })
            .collect();
        let results = launched.and_then(|()| {
            let whole = results.into_iter().map(|list| list.into_iter().collect()).collect();
            let whole: Option<Results> = whole;
            whole.ok_or_else(|| RuntimeError::Protocol {
                call: abi::LoadedExecutableExecute::NAME,
                what: "success and a missing result".to_owned(),
            })
        });
        (results, events)
    }
}

/// Registers a callback that reports the completion of a device. If the device has no event, it is already done.
fn watch(reporter: &Reporter, device: usize, event: Option<RawEvent>) {
    let Some(event) = event else {
        reporter.finished(device, Ok(()), ());
        return;
    };
    let client = event.client.clone();
    let ptr = event.ptr;
    let waiter = Box::into_raw(Box::new(Waiter { device, event, reporter: reporter.clone() }));
    let mut arguments = abi::EventOnReady {
        event: ptr,
        callback: Some(on_ready),
        user_arg: waiter.cast(),
        ..abi::EventOnReady::empty()
    };
    // SAFETY: the event is alive, and is destroyed only after the callback. The callback gets the boxed waiter, and frees it once.
    if let Err(error) = unsafe { client.api().call(&mut arguments) } {
        // SAFETY: a callback that was not registered is not called, so the waiter is still ours.
        let Waiter { device, event, reporter } = *unsafe { Box::from_raw(waiter) };
        reporter.finished(device, Err(error), event);
    }
}

/// The argument of the callback of a device's event.
struct Waiter {
    device: usize,
    event: RawEvent,
    reporter: Reporter,
}

/// Called by the plugin, on any thread, when an event is ready.
///
/// # Safety
///
/// `waiter` must be a [`Waiter`] that was boxed for this call; `error` must be null or owned by the callee.
unsafe extern "C" fn on_ready(error: *mut abi::Error, waiter: *mut c_void) {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let Waiter { device, event, reporter } = *unsafe { Box::from_raw(waiter.cast::<Waiter>()) };
    let outcome = match NonNull::new(error) {
        None => Ok(()),
        Some(error) => {
            // SAFETY: the plugin passes ownership of the error to its callback.
            let error = unsafe { event.client.api().take_error(abi::LoadedExecutableExecute::NAME, error) };
            Err(error)
        }
    };
    reporter.finished(device, outcome, event);
}
