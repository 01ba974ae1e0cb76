//! Watchdog thread: receives the completion of devices, notifies waiters, and abandons a client whose devices hang.
//!
//! The thread also drops objects that must not be dropped on a plugin's thread: dropping the last handle of a client there would make the
//! plugin's thread wait for itself.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::flight::Flight;
use super::places::Places;
use crate::error::{Result, RuntimeError};

/// A message to the watchdog thread. `number` identifies the launch.
pub(super) enum Message {
    /// A launch is queued.
    Begin(Watched),
    /// The plugin started all devices of a launch, or none if `outcome` is an error.
    Launched { number: u64, outcome: Result<()>, at: Instant },
    /// A device finished a launch; `device` is its index in the launch.
    Finished { number: u64, device: usize, outcome: Result<()>, at: Instant },
    /// All reporters of the launch were dropped, so nothing more will be reported.
    Abandoned { number: u64 },
    /// A value that the thread must drop.
    Release(Box<dyn Send>),
}

/// A callback that is called at the end of a launch. Its arguments are the error of the launch, and whether the client was abandoned; it
/// returns the error to report.
pub(crate) type AtEnd = Box<dyn FnOnce(Option<RuntimeError>, bool) -> Option<RuntimeError> + Send>;

/// An unfinished launch that the thread watches.
pub(super) struct Watched {
    pub(super) number: u64,
    pub(super) flight: Arc<Flight>,
    /// The launches that produce arguments of this launch, and that were unfinished when it was queued.
    pub(super) parents: Vec<Arc<Flight>>,
    pub(super) limit: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) call: &'static str,
    /// Whether the client is abandoned if the plugin rejects the launch.
    pub(super) refusal_is_final: bool,
    pub(super) at_end: AtEnd,
    pub(super) done: Vec<bool>,
    pub(super) is_launched: bool,
    /// The error of the first device that failed, and the time until which the other devices may finish.
    pub(super) failed: Option<(RuntimeError, Instant)>,
    /// The time when the devices became free for the launch: the latest end of an earlier launch on any of them.
    pub(super) since: Instant,
    pub(super) last: Instant,
}

impl Watched {
    fn deadline(&self) -> Option<Instant> {
        let limit = self.limit.and_then(|limit| self.since.checked_add(limit));
        let grace = self.failed.as_ref().map(|(_, until)| *until);
        limit.into_iter().chain(grace).min()
    }

    fn is_done(&self) -> bool {
        self.is_launched && self.done.iter().all(|&done| done)
    }

    /// Returns the error of a launch whose deadline has passed.
    fn expired(&mut self) -> RuntimeError {
        if let Some((error, _)) = self.failed.take() {
            return error;
        }
        let ids = self.flight.devices.iter().copied().zip(&self.done);
        let (finished, waiting): (Vec<_>, Vec<_>) = ids.partition(|(_, done)| **done);
        let list = |list: Vec<(i32, &bool)>| list.into_iter().map(|(id, _)| id).collect();
        let limit = self.limit.unwrap_or_default();
        RuntimeError::TimeLimit { limit, done: list(finished), waiting: list(waiting) }
    }
}

/// The state of the watchdog thread: the unfinished launches of a client, in the order in which they were queued.
pub(super) struct Watch {
    pub(super) lost: Arc<OnceLock<String>>,
    pub(super) places: Arc<Places>,
    flights: Vec<Watched>,
}

impl Watch {
    pub(super) fn new(lost: Arc<OnceLock<String>>, places: Arc<Places>) -> Watch {
        Watch { lost, places, flights: Vec::new() }
    }

    /// Receives messages until no sender is left.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let next = self.flights.iter().filter_map(Watched::deadline).min();
            let message = match next {
                Some(at) => messages.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => self.expire(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Begin(watched) => match self.lost.get() {
                // The client was abandoned between the check in `Launcher::launch` and this message.
                Some(reason) => self.end(watched, Some(RuntimeError::ClientLost { reason: reason.clone() })),
                None => self.flights.push(watched),
            },
            Message::Launched { number, outcome: Ok(()), at } => {
                if let Some(watched) = self.find(number) {
                    watched.is_launched = true;
                    watched.last = watched.last.max(at);
                    watched.flight.set_launched(at);
                }
                self.end_if_done(number);
            }
            Message::Launched { number, outcome: Err(error), .. } => {
                let Some(watched) = self.take(number) else { return };
                let devices = watched.flight.devices.len();
                if devices > 1 && watched.refusal_is_final {
                    let reason = format!("a launch on its {devices} devices was rejected: {error}");
                    self.give_up(watched, error, reason);
                } else {
                    self.end(watched, Some(error));
                }
            }
            Message::Finished { number, device, outcome, at } => {
                if let Some(watched) = self.find(number) {
                    watched.done[device] = true;
                    watched.last = watched.last.max(at);
                    if let (Err(error), None) = (outcome, &watched.failed) {
                        let error = of_device(watched.flight.devices[device], error);
                        watched.failed = Some((error, Instant::now() + watched.grace));
                    }
                }
                self.end_if_done(number);
            }
            Message::Abandoned { number } => {
                if let Some(mut watched) = self.take(number) {
                    let error = watched.failed.take().map(|(error, _)| error);
                    let error = error.unwrap_or_else(|| RuntimeError::Protocol {
                        call: watched.call,
                        what: "events that were dropped before they were ready".to_owned(),
                    });
                    let reason = error.to_string();
                    self.give_up(watched, error, reason);
                }
            }
            Message::Release(thing) => drop(thing),
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut Watched> {
        self.flights.iter_mut().find(|watched| watched.number == number)
    }

    fn take(&mut self, number: u64) -> Option<Watched> {
        let at = self.flights.iter().position(|watched| watched.number == number)?;
        Some(self.flights.remove(at))
    }

    fn end_if_done(&mut self, number: u64) {
        if self.find(number).is_some_and(|watched| watched.is_done())
            && let Some(mut watched) = self.take(number)
        {
            let failed = watched.failed.take().map(|(error, _)| error);
            self.end(watched, failed);
        }
    }

    /// Abandons the client if a launch exceeds its deadline.
    fn expire(&mut self) {
        let now = Instant::now();
        let is_late = |watched: &Watched| watched.deadline().is_some_and(|at| at <= now);
        if let Some(at) = self.flights.iter().position(is_late) {
            let mut watched = self.flights.remove(at);
            let error = watched.expired();
            let reason = error.to_string();
            self.give_up(watched, error, reason);
        }
    }

    fn give_up(&mut self, watched: Watched, error: RuntimeError, reason: String) {
        // Only the first reason is recorded, because later failures are consequences of it.
        let _ = self.lost.set(reason.clone());
        self.end(watched, Some(error));
        for other in std::mem::take(&mut self.flights) {
            self.end(other, Some(RuntimeError::ClientLost { reason: reason.clone() }));
        }
    }

    fn end(&mut self, watched: Watched, failed: Option<RuntimeError>) {
        let Watched { flight, parents, at_end, since, last, .. } = watched;
        // If a launch that produces an argument failed, its error is reported as the cause.
        let cause = || parents.iter().find_map(|parent| parent.outcome()?.err());
        let failed = failed.map(|error| cause().unwrap_or(error));
        let failed = at_end(failed, self.lost.get().is_some());
        for later in &mut self.flights {
            if later.flight.devices.iter().any(|device| flight.devices.contains(device)) {
                later.since = later.since.max(last);
            }
        }
        // Admits the next launch before the callers that wait for this one are notified.
        self.places.leave();
        flight.set_over(failed.map_or(Ok(()), Err), last.saturating_duration_since(since));
    }
}

/// Adds the ID of the device to the message of its error.
fn of_device(id: i32, error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Pjrt { call, code, message } => {
            RuntimeError::Pjrt { call, code, message: format!("device {id}: {message}") }
        }
        RuntimeError::OutOfMemory { call, code, asked, message } => {
            RuntimeError::OutOfMemory { call, code, asked, message: format!("device {id}: {message}") }
        }
        other => other,
    }
}

/// Reports events of one launch. Cheap to clone. If the last clone is dropped before the launch is finished, the launch has failed.
#[derive(Clone)]
pub(crate) struct Reporter(Arc<Inner>);

struct Inner {
    number: u64,
    messages: Sender<Message>,
}

impl Reporter {
    pub(super) fn new(number: u64, messages: Sender<Message>) -> Reporter {
        Reporter(Arc::new(Inner { number, messages }))
    }

    /// Reports that the plugin started all devices, or none if `outcome` is an error.
    pub(crate) fn launched(&self, outcome: Result<()>) {
        let (number, at) = (self.0.number, Instant::now());
        let _ = self.0.messages.send(Message::Launched { number, outcome, at });
    }

    /// Reports that the device with this index in the launch is done. The plugin's `event` is dropped on the watchdog thread, not on the
    /// plugin's thread that runs the callback.
    pub(crate) fn finished(&self, device: usize, outcome: Result<()>, event: impl Send + 'static) {
        let (number, at) = (self.0.number, Instant::now());
        let _ = self.0.messages.send(Message::Finished { number, device, outcome, at });
        let _ = self.0.messages.send(Message::Release(Box::new(event)));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Abandoned { number: self.number });
    }
}
