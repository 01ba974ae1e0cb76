//! The launches of one client: queued, started by a launch thread, and watched by another thread until every device is done.
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

/// The options of a launch.
pub(crate) struct Patience<'a> {
    /// The device IDs.
    pub(crate) devices: &'a [i32],
    /// The time limit of the launch, after earlier launches are done; `None` for no limit.
    pub(crate) limit: Option<Duration>,
    /// The time limit of the other devices after one has failed.
    pub(crate) grace: Duration,
    /// The plugin's function that starts devices.
    pub(crate) call: &'static str,
    /// The maximum number of launches in flight on the client, including this one.
    pub(crate) in_flight: usize,
    /// Whether the client is abandoned if the plugin rejects the launch, because later launches would wait for this launch forever.
    pub(crate) refusal_is_final: bool,
}

type Job = Box<dyn FnOnce() + Send>;

/// The names of the threads.
const QUEUE: &str = "shardc-launch";
const WATCH: &str = "shardc-watch";

/// The queue of launches on a client.
#[derive(Default)]
pub(crate) struct Launcher {
    /// The reason why the client is abandoned, once it is.
    lost: Arc<OnceLock<String>>,
    places: Arc<Places>,
    numbers: AtomicU64,
    /// The threads start with the first launch or transfer, and end with the client.
    queue: OnceLock<Sender<Job>>,
    watch: OnceLock<Sender<Message>>,
}

impl Launcher {
    /// Whether the client is abandoned.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// The error if the client is abandoned.
    pub(crate) fn check(&self) -> Result<()> {
        match self.lost.get() {
            Some(reason) => Err(RuntimeError::ClientLost { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Queues a launch, and waits until its devices are started. `start` starts all devices and reports that; their completion may be
    /// reported later. If the maximum number of launches is in flight, this first waits; the time of that wait is returned, too. `at_end`
    /// is called at the end of the launch, even if the launch is rejected here.
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

    /// Waits until all launches are finished and their events are dropped. Does nothing on the launcher's own threads, or if the client was
    /// abandoned.
    pub(crate) fn settle(&self) {
        let Some(watch) = self.watch.get() else { return };
        if self.is_lost() || [QUEUE, WATCH].map(Some).contains(&std::thread::current().name()) {
            return;
        }
        self.places.wait_until_free();
        let (dropped, is_dropped) = channel::<()>();
        if watch.send(Message::Release(Box::new(dropped))).is_ok() {
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = is_dropped.recv();
        }
    }

    /// Drops a value later, on a thread of the launcher instead of the plugin.
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

/// The channel to a thread, which is started on first use.
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
    // If another thread was faster, the thread started here ends when its sender is dropped.
    Ok(sender.get_or_init(|| send))
}

#[cfg(test)]
mod tests;
