//! Launches: how a program is started on all its devices at once, and waited for.
//!
//! # What the C API gives
//!
//! `PJRT_LoadedExecutable_Execute` starts a program on all devices of a process, and gives an event for each device. It
//! may return at once, or only after the program has run (as the CPU plugin does for cheap programs on one device). An
//! event can be waited for, without a limit, or call back. Nothing ends a program that runs: a device that waits for
//! another one in a collective goes on waiting.
//!
//! In the CPU plugin a launch for several devices waits for the launch before it, by an event to which each device of
//! that launch counts down as it starts. If the plugin refuses the launch on some device (an argument of another size),
//! that event never comes, and every later launch on the client waits for ever. And a device that waits in a collective
//! for 40 s (`--xla_cpu_collective_call_terminate_timeout_seconds` in `XLA_FLAGS`) ends the process.
//!
//! # What is guaranteed here
//!
//! Queue, watch and time limit are in `crate::launcher`, which knows nothing of plugins.
//!
//! - Nothing is launched before the callers of [`launch`] have compared what the plugin would refuse.
//! - Launches on a client are queued, and made by a thread of its own: the caller can stop waiting, whether the plugin
//!   is in the call or a device in the program. Each launch has its own number, by which collectives know their peers.
//! - A launch returns when the plugin has started its devices. How it ends is known without anyone waiting for it, and told to
//!   whoever does, however late: an error of one device, with the device's number, as soon as the others are done, or [`GRACE`]
//!   after it where they are not, because they wait for that device.
//! - After the time limit the error says which devices are done and which are not. The limit counts from when the launches
//!   before it are over.
//! - Arguments go when the plugin has started the devices: it keeps what they read.
//! - Where devices are left that may wait for ever, the client is given up: each later run on it is an error at once,
//!   and nothing of it is destroyed, because the plugin would wait for those devices.

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

/// How long devices may take after one of them has failed.
const GRACE: Duration = Duration::from_secs(5);

/// One block for each argument, for each device.
type Arguments = Vec<Vec<Arc<RawBuffer>>>;
/// One block for each result, for each device.
pub(crate) type Results = Vec<Vec<RawBuffer>>;

/// How a program is launched.
pub(crate) struct LaunchOptions<'a> {
    /// Arguments that the program may overwrite, where nobody else holds them.
    pub(crate) donated: &'a [usize],
    /// How long it may take.
    pub(crate) limit: Option<Duration>,
    /// How many launches may be on their way with this one.
    pub(crate) in_flight: usize,
    /// Launches whose results are arguments, and which are not over.
    pub(crate) parents: Vec<Arc<Flight>>,
}

/// A launch that is on its way.
pub(crate) struct Launch {
    /// Its results, which may not be there yet.
    pub(crate) results: Results,
    pub(crate) flight: Arc<Flight>,
    /// How long it waited for its place among those on their way.
    pub(crate) waited: Duration,
}

/// A launch that is queued.
struct Job {
    program: Arc<RawProgram>,
    arguments: Arguments,
    /// The arguments that the program must leave as they are.
    kept: Vec<i64>,
    /// What calls of this process's functions know the launch by.
    context: Option<Arc<LaunchContext>>,
}

/// Starts a program on all its devices at once.
///
/// `arguments[device][i]` is argument `i`, on that device.
///
/// # Errors
///
/// Lists of another length than the program's, arguments of another client; what the plugin says of the launch; a client that
/// was given up. What devices say later is told by the launch.
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
            "the program runs on {devices} devices and got arguments for {}",
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
    // The plugin takes the memory of what is donated. Nobody can make a clone of what only this list has.
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
            // The program still calls with it.
            std::mem::forget(context);
        }
        let error = failed?;
        let Some(across) = across else { return Some(error) };
        // What ended the run is the process that was lost, where one was; else the others must hear of it.
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
    /// Makes the call, and sees to it that the end of each device is reported.
    fn launch(self, reporter: &Reporter, give: &Sender<Results>) {
        let (launched, events) = self.execute();
        // Nothing is destroyed where the caller has stopped waiting: then the client is given up.
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
        // SAFETY: there is one list for each device of the program (`run` compares), each with as many entries as
        // `num_args` says; result lists have one entry for each of the program's results; all of it outlives the
        // call. Whatever is donated is held by this job alone.
        let launched = unsafe { client.api().call(&mut call) };
        // Wrapped before the outcome is looked at, so that nothing leaks when it is bad.
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

/// Has the end of a device reported; a device without an event is done.
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
    // SAFETY: the event is alive, and is destroyed only after the callback; the callback gets the waiter, which
    // it frees, once.
    if let Err(error) = unsafe { client.api().call(&mut arguments) } {
        // SAFETY: a callback that was not registered is not called, so the waiter is still ours.
        let Waiter { device, event, reporter } = *unsafe { Box::from_raw(waiter) };
        reporter.finished(device, Err(error), event);
    }
}

/// What the callback of an event gets.
struct Waiter {
    device: usize,
    event: RawEvent,
    reporter: Reporter,
}

/// Called by the plugin, on any thread, when an event has happened.
///
/// # Safety
///
/// `waiter` must be a [`Waiter`] that was boxed for this call, `error` null or an error that the callee owns.
unsafe extern "C" fn on_ready(error: *mut abi::Error, waiter: *mut c_void) {
    // SAFETY: the caller's promise.
    let Waiter { device, event, reporter } = *unsafe { Box::from_raw(waiter.cast::<Waiter>()) };
    let outcome = match NonNull::new(error) {
        None => Ok(()),
        Some(error) => {
            // SAFETY: the plugin gives the error up to its callback.
            let error = unsafe { event.client.api().take_error(abi::LoadedExecutableExecute::NAME, error) };
            Err(error)
        }
    };
    reporter.finished(device, outcome, event);
}
