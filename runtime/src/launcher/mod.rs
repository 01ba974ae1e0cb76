//! Runs the launches of one client: they are queued, started by a launch thread, and watched by another thread until every device is done.
//!
//! A launch is a function passed to [`Launcher::launch`], so this module does not depend on plugins. Its guarantees are explained
//! in `ffi/launch.rs`, where that function calls the plugin.

mod flight;
mod places;
mod watch;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub(crate) use self::flight::Flight;
use self::places::Places;
pub(crate) use self::watch::{AtEnd, Reporter};
use self::watch::{Message, Watch, Watched};
use crate::error::{Result, RuntimeError};

/// The options of a launch, mainly its time limits.
pub(crate) struct Patience<'a> {
    /// The IDs of the devices on which the program is launched.
    pub(crate) devices: &'a [i32],
    /// The time limit of the launch, counted from the end of earlier launches; `None` for no limit.
    pub(crate) limit: Option<Duration>,
    /// The time that other devices get to finish after one has failed.
    pub(crate) grace: Duration,
    /// The name of the plugin's function that starts the devices, for errors.
    pub(crate) call: &'static str,
    /// The maximum number of launches in flight on the client, including this one.
    pub(crate) in_flight: usize,
    /// Whether the client is abandoned if the plugin rejects the launch, because later launches would wait forever for the rejected one.
    pub(crate) refusal_is_final: bool,
}

type Job = Box<dyn FnOnce() + Send>;

/// The names of the launch thread and of the watchdog thread.
const QUEUE: &str = "shardc-launch";
const WATCH: &str = "shardc-watch";

/// The launches on a client: their queue, the threads that start and watch them, and their limits.
#[derive(Default)]
pub(crate) struct Launcher {
    /// The reason why the client was abandoned; empty while it is usable.
    lost: Arc<OnceLock<String>>,
    places: Arc<Places>,
    numbers: AtomicU64,
    /// The channels to the two threads, which start with the first launch or transfer, and end with the client.
    queue: OnceLock<Sender<Job>>,
    watch: OnceLock<Sender<Message>>,
}

impl Launcher {
    /// Returns whether the client was abandoned.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Returns an error if the client was abandoned.
    pub(crate) fn check(&self) -> Result<()> {
        match self.lost.get() {
            Some(reason) => Err(RuntimeError::ClientLost { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Queues a launch, and waits until its devices are started. `start` must start all devices and report that to its [`Reporter`]; the
    /// completion of devices may be reported later. If the maximum number of launches is in flight, this function first waits until one is
    /// finished, and returns the time of that wait as the second result. `at_end` is called at the end of the launch, even if the launch is
    /// rejected here.
    ///
    /// # Errors
    ///
    /// The error of `start`, or that the client is abandoned.
    pub(crate) fn launch(
        &self,
        patience: &Patience<'_>,
        parents: Vec<Arc<Flight>>,
        at_end: AtEnd,
        start: impl FnOnce(&Reporter) + Send + 'static,
    ) -> Result<(Arc<Flight>, Duration)> {
        if let Err(error) = self.check() {
            return Err(at_end(Some(error.clone()), true).unwrap_or(error));
        }
        let (queue, watch) = (self.queue()?, self.watch()?);
        let asked = Instant::now();
        if !self.places.enter(patience.in_flight, patience.limit) {
            let (limit, waiting) = (patience.limit.unwrap_or_default(), patience.devices.to_vec());
            let error = RuntimeError::TimeLimit { limit, done: Vec::new(), waiting };
            return Err(at_end(Some(error.clone()), self.is_lost()).unwrap_or(error));
        }
        let waited = asked.elapsed();
        let flight = Arc::new(Flight::new(patience.devices));
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let reporter = Reporter::new(number, watch.clone());
        let watched = Watched {
            number,
            flight: flight.clone(),
            parents,
            limit: patience.limit,
            grace: patience.grace,
            call: patience.call,
            refusal_is_final: patience.refusal_is_final,
            at_end,
            done: vec![false; patience.devices.len()],
            is_launched: false,
            failed: None,
            since: flight.queued,
            last: flight.queued,
        };
        let ended = || RuntimeError::ClientLost { reason: "its threads have ended".to_owned() };
        watch.send(Message::Begin(watched)).map_err(|_| {
            self.places.leave();
            ended()
        })?;
        queue.send(Box::new(move || start(&reporter))).map_err(|_| ended())?;
        flight.wait_for_launch()?;
        Ok((flight, waited))
    }

    /// Waits until all launches are finished and the plugin's events are dropped. Does nothing on the launcher's own threads, or if the
    /// client was abandoned.
    pub(crate) fn settle(&self) {
        let Some(watch) = self.watch.get() else { return };
        if self.is_lost() || [QUEUE, WATCH].map(Some).contains(&std::thread::current().name()) {
            return;
        }
        self.places.wait_until_free();
        let (dropped, is_dropped) = channel::<()>();
        if watch.send(Message::Release(Box::new(dropped))).is_ok() {
            // Nothing is sent on this channel: the wait ends when the watchdog thread drops the sender, after all earlier messages.
            let _ = is_dropped.recv();
        }
    }

    /// Returns a function that drops a value later, on a thread of the launcher. It can be called on threads of the plugin, which must not
    /// drop some values.
    pub(crate) fn release(&self) -> Result<impl Fn(Box<dyn Send>) + Send + use<>> {
        let watch = self.watch()?.clone();
        Ok(move |thing| {
            let _ = watch.send(Message::Release(thing));
        })
    }

    fn queue(&self) -> Result<&Sender<Job>> {
        started(&self.queue, QUEUE, |queue| queue.into_iter().for_each(|job: Job| job()))
    }

    fn watch(&self) -> Result<&Sender<Message>> {
        let (lost, places) = (self.lost.clone(), self.places.clone());
        started(&self.watch, WATCH, move |messages| Watch::new(lost, places).run(&messages))
    }
}

/// Returns the channel to a thread. The thread is started on first use.
fn started<'a, T: Send + 'static>(
    sender: &'a OnceLock<Sender<T>>,
    name: &str,
    body: impl FnOnce(std::sync::mpsc::Receiver<T>) + Send + 'static,
) -> Result<&'a Sender<T>> {
    if let Some(sender) = sender.get() {
        return Ok(sender);
    }
    let (send, receive) = channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || body(receive))
        .map_err(RuntimeError::io(&Path::new("the thread").join(name)))?;
    // If another caller set the channel first, `send` is dropped, and the thread that was started here ends.
    Ok(sender.get_or_init(|| send))
}

#[cfg(test)]
mod tests;
