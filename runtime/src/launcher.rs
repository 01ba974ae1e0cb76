//! The launches of one client: queued, made by a thread of their own, and watched until every device is done.
//!
//! What a launch does is a function that is given to [`Launcher::run`], so nothing here knows of plugins. What is
//! guaranteed, and why, stands in `ffi/launch.rs`, where that function calls the plugin.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::error::{Result, RuntimeError};

/// What becomes of a launch that gives `R`.
pub(crate) enum Report<R, E> {
    /// All devices are started, or none is.
    Launched(Result<R>),
    /// A device is done. What its end was told by is dropped by whoever gets this, on a thread that is not the plugin's.
    Finished { device: usize, outcome: Result<()>, _event: E },
}

/// How the devices of a launch are waited for.
pub(crate) struct Patience<'a> {
    /// The devices' numbers.
    pub(crate) devices: &'a [i32],
    /// How long the launch may take; `None` for as long as it likes.
    pub(crate) limit: Option<Duration>,
    /// How long devices may take after one of them has failed.
    pub(crate) grace: Duration,
    /// The function of the plugin that starts devices.
    pub(crate) call: &'static str,
}

type Job = Box<dyn FnOnce() + Send>;

/// Where launches on a client are queued.
#[derive(Default)]
pub(crate) struct Launcher {
    /// Why nothing can run on the client any more, once that is so.
    lost: OnceLock<String>,
    /// The thread that makes launches starts with the first and ends with the client.
    queue: OnceLock<Sender<Job>>,
}

impl Launcher {
    /// Notes why nothing can run on the client any more.
    pub(crate) fn give_up(&self, reason: String) {
        // The first reason is the one that explains the others.
        let _ = self.lost.set(reason);
    }

    /// Whether the client was given up.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// An error, if nothing can run on the client any more.
    pub(crate) fn check(&self) -> Result<()> {
        match self.lost.get() {
            Some(reason) => Err(RuntimeError::ClientLost { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Has `start` called, which starts all devices and reports, and waits until all of them are done. That a launch is
    /// refused costs the client where `refusal_is_final` says so: the plugin waits for it ever after.
    ///
    /// # Errors
    ///
    /// What `start` reports of itself or of a device; the time limit; a client that was given up.
    pub(crate) fn run<R: Send + 'static, E: Send + 'static>(
        &self,
        patience: &Patience<'_>,
        refusal_is_final: impl FnOnce() -> bool,
        start: impl FnOnce(&Sender<Report<R, E>>) + Send + 'static,
    ) -> Result<R> {
        self.check()?;
        let (report, reports) = channel();
        let deadline = patience.limit.and_then(|limit| Instant::now().checked_add(limit));
        if self.queue()?.send(Box::new(move || start(&report))).is_err() {
            return Err(RuntimeError::ClientLost { reason: "its launching thread has ended".to_owned() });
        }
        self.wait(patience, deadline, &reports, refusal_is_final)
    }

    fn queue(&self) -> Result<&Sender<Job>> {
        if self.queue.get().is_none() {
            let (jobs, queue) = channel::<Job>();
            std::thread::Builder::new()
                .name("shardc-launch".to_owned())
                .spawn(move || queue.into_iter().for_each(|job| job()))
                .map_err(RuntimeError::io(std::path::Path::new("the thread shardc-launch")))?;
            // Another thread may have been faster: the thread of this one ends as its sender is dropped.
            let _ = self.queue.set(jobs);
        }
        self.queue.get().ok_or_else(|| RuntimeError::ClientLost { reason: "it has no queue".to_owned() })
    }

    /// Collects the reports of one launch.
    fn wait<R, E>(
        &self,
        patience: &Patience<'_>,
        mut deadline: Option<Instant>,
        reports: &Receiver<Report<R, E>>,
        refusal_is_final: impl FnOnce() -> bool,
    ) -> Result<R> {
        let ids = patience.devices;
        let mut done = vec![false; ids.len()];
        let mut results: Option<R> = None;
        let mut failed: Option<RuntimeError> = None;
        while results.is_none() || done.contains(&false) {
            let report = match deadline {
                Some(at) => reports.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => reports.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match report {
                Ok(Report::Launched(Ok(launched))) => results = Some(launched),
                Ok(Report::Launched(Err(error))) => {
                    if ids.len() > 1 && refusal_is_final() {
                        self.give_up(format!("a launch on its {} devices was refused: {error}", ids.len()));
                    }
                    return Err(error);
                }
                Ok(Report::Finished { device, outcome, .. }) => {
                    done[device] = true;
                    if let (Err(error), None) = (outcome, &failed) {
                        failed = Some(of_device(ids[device], error));
                        let patience = Instant::now() + patience.grace;
                        deadline = Some(deadline.map_or(patience, |at| at.min(patience)));
                    }
                }
                Err(why) => {
                    let (finished, waiting): (Vec<_>, Vec<_>) =
                        ids.iter().copied().zip(&done).partition(|(_, done)| **done);
                    let list = |list: Vec<(i32, &bool)>| list.into_iter().map(|(id, _)| id).collect();
                    let error = failed.take().unwrap_or_else(|| match why {
                        RecvTimeoutError::Timeout => RuntimeError::TimeLimit {
                            limit: patience.limit.unwrap_or_default(),
                            done: list(finished),
                            waiting: list(waiting),
                        },
                        RecvTimeoutError::Disconnected => RuntimeError::Protocol {
                            call: patience.call,
                            what: "events that were dropped before they happened".to_owned(),
                        },
                    });
                    self.give_up(error.to_string());
                    // The plugin still writes them.
                    std::mem::forget(results);
                    return Err(error);
                }
            }
        }
        match (failed, results) {
            (Some(error), _) => Err(error),
            (None, Some(results)) => Ok(results),
            (None, None) => Err(RuntimeError::Protocol { call: patience.call, what: "nothing".to_owned() }),
        }
    }
}

/// The error of a device, with the device's number.
fn of_device(id: i32, error: RuntimeError) -> RuntimeError {
    match error {
        RuntimeError::Pjrt { call, code, message } => {
            RuntimeError::Pjrt { call, code, message: format!("device {id}: {message}") }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PjrtCode;

    type Reports = Sender<Report<&'static str, ()>>;

    const GRACE: Duration = Duration::from_millis(50);
    /// What a test may take that waits for [`GRACE`] on a busy machine, and far less than a device that hangs.
    const SOON: Duration = Duration::from_secs(10);

    fn patience(limit: Option<Duration>) -> Patience<'static> {
        Patience { devices: &[10, 11, 12, 13], limit, grace: GRACE, call: "execute" }
    }

    fn failure() -> RuntimeError {
        RuntimeError::Pjrt { call: "execute", code: PjrtCode(13), message: "out of order".to_owned() }
    }

    fn finish(reports: &Reports, device: usize, outcome: Result<()>) {
        reports.send(Report::Finished { device, outcome, _event: () }).unwrap();
    }

    /// A launch of which device 1 fails. Device 3 waits for it in a collective: for ever, or until `end`.
    fn device_1_fails(reports: &Reports, end: Option<Duration>) {
        reports.send(Report::Launched(Ok("results"))).unwrap();
        finish(reports, 0, Ok(()));
        finish(reports, 1, Err(failure()));
        finish(reports, 2, Ok(()));
        let reports = reports.clone();
        std::thread::spawn(move || {
            // The plugin holds the callback of an event that does not come.
            std::thread::sleep(end.unwrap_or(Duration::from_secs(3600)));
            let _ = reports.send(Report::Finished { device: 3, outcome: Ok(()), _event: () });
        });
    }

    fn all_finish(reports: &Reports) {
        (0..4).for_each(|device| finish(reports, device, Ok(())));
        reports.send(Report::Launched(Ok("results"))).unwrap();
    }

    #[test]
    fn a_failing_device_ends_those_that_wait_for_it() {
        let launcher = Launcher::default();
        let started = Instant::now();
        let error =
            launcher.run(&patience(None), || false, |reports| device_1_fails(reports, None)).unwrap_err();
        let took = started.elapsed();
        assert!((GRACE..SOON).contains(&took), "{took:?}");
        assert_eq!(error.code(), "RT0201");
        assert!(error.to_string().contains("device 11: out of order"), "{error}");
        assert!(launcher.is_lost());
        // The next launch is not even started.
        let started = Instant::now();
        let error = launcher
            .run::<&str, ()>(&patience(None), || false, |_| unreachable!("a lost client launches nothing"))
            .unwrap_err();
        assert!(started.elapsed() < SOON);
        assert_eq!(error.code(), "RT0205");
        assert!(error.to_string().contains("device 11: out of order"), "{error}");
    }

    #[test]
    fn the_client_stays_where_the_others_end_in_time() {
        let launcher = Launcher::default();
        let patience = Patience { grace: SOON, ..patience(None) };
        let soon = Some(Duration::from_millis(1));
        let run = launcher.run(&patience, || false, move |reports| device_1_fails(reports, soon));
        assert!(run.unwrap_err().to_string().contains("device 11: out of order"));
        launcher.check().unwrap();
        assert_eq!(launcher.run(&patience, || false, all_finish).unwrap(), "results");
    }

    #[test]
    fn a_failure_before_the_time_limit_is_what_is_told() {
        let launcher = Launcher::default();
        let limit = Some(Duration::from_millis(20));
        let patience = Patience { grace: SOON, ..patience(limit) };
        let error = launcher.run(&patience, || false, |reports| device_1_fails(reports, None)).unwrap_err();
        assert_eq!(error.code(), "RT0201", "{error}");
    }

    #[test]
    fn a_time_limit_tells_who_is_done() {
        let launcher = Launcher::default();
        let hangs = |reports: &Reports| {
            finish(reports, 2, Ok(()));
            // Stands for a plugin that does not return from the call.
            std::thread::sleep(Duration::from_secs(3600));
        };
        let error = launcher.run(&patience(Some(GRACE)), || false, hangs).unwrap_err();
        let RuntimeError::TimeLimit { done, waiting, .. } = &error else { panic!("{error}") };
        assert_eq!((done.as_slice(), waiting.as_slice()), (&[12][..], &[10, 11, 13][..]));
        assert_eq!(launcher.check().unwrap_err().code(), "RT0205");
    }

    #[test]
    fn a_refused_launch_costs_the_client_only_where_the_plugin_then_waits() {
        let refuse = |reports: &Reports| reports.send(Report::Launched(Err(failure()))).unwrap();
        for is_final in [false, true] {
            let launcher = Launcher::default();
            assert_eq!(launcher.run(&patience(None), || is_final, refuse).unwrap_err().code(), "RT0201");
            assert_eq!(launcher.is_lost(), is_final);
        }
    }

    #[test]
    fn events_that_never_come_are_not_waited_for() {
        let launcher = Launcher::default();
        let dropped = |reports: &Reports| reports.send(Report::Launched(Ok("results"))).unwrap();
        let error = launcher.run(&patience(None), || false, dropped).unwrap_err();
        assert_eq!(error.code(), "RT0203", "{error}");
        assert!(launcher.is_lost());
    }
}
