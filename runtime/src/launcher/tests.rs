//! Tests of the launcher with functions that simulate a plugin.

use std::sync::mpsc;

use super::*;
use crate::error::PjrtCode;

const GRACE: Duration = Duration::from_millis(50);
/// The maximum time that a test which waits for [`GRACE`] may take on a busy machine. It is much shorter than the wait for a hung device.
const SOON: Duration = Duration::from_secs(10);

fn patience(limit: Option<Duration>) -> Patience<'static> {
    Patience {
        devices: &[10, 11, 12, 13],
        limit,
        grace: GRACE,
        call: "execute",
        in_flight: usize::MAX,
        refusal_is_final: false,
    }
}

fn failure() -> RuntimeError {
    RuntimeError::Pjrt { call: "execute", code: PjrtCode(13), message: "out of order".to_owned() }
}

fn launch(
    launcher: &Launcher,
    patience: &Patience<'_>,
    start: impl FnOnce(&Reporter) + Send + 'static,
) -> Result<Arc<Flight>> {
    let nothing: AtEnd = Box::new(|failed, _| failed);
    launcher.launch(patience, Vec::new(), nothing, start).map(|(flight, _)| flight)
}

/// Starts a launch and waits until it is finished.
fn run(
    launcher: &Launcher,
    patience: &Patience<'_>,
    start: impl FnOnce(&Reporter) + Send + 'static,
) -> Result<()> {
    launch(launcher, patience, start)?.wait()
}

/// Simulates a launch in which device 1 fails. Device 3 waits for device 1 in a collective: for the time `end`, or forever if it is `None`.
fn device_1_fails(reporter: &Reporter, end: Option<Duration>) {
    reporter.launched(Ok(()));
    reporter.finished(0, Ok(()), ());
    reporter.finished(1, Err(failure()), ());
    reporter.finished(2, Ok(()), ());
    let reporter = reporter.clone();
    std::thread::spawn(move || {
        // Keeps the reporter alive, as a plugin keeps the callback of an event that is never ready.
        std::thread::sleep(end.unwrap_or(Duration::from_secs(3600)));
        reporter.finished(3, Ok(()), ());
    });
}

fn all_finish(reporter: &Reporter) {
    (0..4).for_each(|device| reporter.finished(device, Ok(()), ()));
    reporter.launched(Ok(()));
}

/// Simulates a launch that finishes when the other end of the channel `end` sends a value or is dropped.
fn until_signaled(end: mpsc::Receiver<()>) -> impl FnOnce(&Reporter) + Send + 'static {
    move |reporter: &Reporter| {
        reporter.launched(Ok(()));
        let reporter = reporter.clone();
        std::thread::spawn(move || {
            let _ = end.recv();
            (0..4).for_each(|device| reporter.finished(device, Ok(()), ()));
        });
    }
}

#[test]
fn device_failure_fails_waiting_devices() {
    let launcher = Launcher::default();
    let started = Instant::now();
    let error = run(&launcher, &patience(None), |reporter| device_1_fails(reporter, None)).unwrap_err();
    let took = started.elapsed();
    assert!((GRACE..SOON).contains(&took), "{took:?}");
    assert_eq!(error.code(), "RT0201");
    assert!(error.to_string().contains("device 11: out of order"), "{error}");
    assert!(launcher.is_lost());
    // The client was abandoned, so the next launch is rejected without being started.
    let started = Instant::now();
    let error =
        run(&launcher, &patience(None), |_| unreachable!("a lost client launches nothing")).unwrap_err();
    assert!(started.elapsed() < SOON);
    assert_eq!(error.code(), "RT0205");
    assert!(error.to_string().contains("device 11: out of order"), "{error}");
}

#[test]
fn client_stays_usable_if_other_devices_finish_in_time() {
    let launcher = Launcher::default();
    let patience = Patience { grace: SOON, ..patience(None) };
    let soon = Some(Duration::from_millis(1));
    let error = run(&launcher, &patience, move |reporter| device_1_fails(reporter, soon)).unwrap_err();
    assert!(error.to_string().contains("device 11: out of order"));
    launcher.check().unwrap();
    run(&launcher, &patience, all_finish).unwrap();
}

#[test]
fn failure_before_the_time_limit_is_reported() {
    let launcher = Launcher::default();
    let patience = Patience { grace: SOON, ..patience(Some(Duration::from_millis(20))) };
    let error = run(&launcher, &patience, |reporter| device_1_fails(reporter, None)).unwrap_err();
    assert_eq!(error.code(), "RT0201", "{error}");
}

#[test]
fn time_limit_lists_finished_devices() {
    let launcher = Launcher::default();
    let hangs = |reporter: &Reporter| {
        reporter.finished(2, Ok(()), ());
        // Simulates a plugin whose call does not return.
        std::thread::sleep(Duration::from_secs(3600));
    };
    let error = run(&launcher, &patience(Some(GRACE)), hangs).unwrap_err();
    let RuntimeError::TimeLimit { done, waiting, .. } = &error else { panic!("{error}") };
    assert_eq!((done.as_slice(), waiting.as_slice()), (&[12][..], &[10, 11, 13][..]));
    assert_eq!(launcher.check().unwrap_err().code(), "RT0205");
}

#[test]
fn rejected_launch_abandons_the_client_only_if_the_plugin_would_hang() {
    for refusal_is_final in [false, true] {
        let launcher = Launcher::default();
        let patience = Patience { refusal_is_final, ..patience(None) };
        let error = run(&launcher, &patience, |reporter| reporter.launched(Err(failure()))).unwrap_err();
        assert_eq!(error.code(), "RT0201");
        assert_eq!(launcher.is_lost(), refusal_is_final);
    }
}

#[test]
fn dropped_events_end_a_launch() {
    let launcher = Launcher::default();
    let error = run(&launcher, &patience(None), |reporter| reporter.launched(Ok(()))).unwrap_err();
    assert_eq!(error.code(), "RT0203", "{error}");
    assert!(launcher.is_lost());
}

#[test]
fn launches_in_flight_are_limited() {
    let launcher = Launcher::default();
    let two = Patience { in_flight: 2, ..patience(None) };
    let (end_first, first) = mpsc::channel();
    let (_end_second, second) = mpsc::channel();
    let first = launch(&launcher, &two, until_signaled(first)).unwrap();
    let second = launch(&launcher, &two, until_signaled(second)).unwrap();
    assert!(!first.is_over() && !second.is_over() && first.times().is_none());
    // Two launches are in flight, which is the maximum. So a third launch is rejected after its time limit, without being started, and the
    // client stays usable.
    let soon = Patience { limit: Some(GRACE), ..two };
    let error = launch(&launcher, &soon, |_| unreachable!("there is no place")).unwrap_err();
    assert_eq!(error.code(), "RT0204", "{error}");
    launcher.check().unwrap();
    std::thread::scope(|scope| {
        let third = scope.spawn(|| {
            let nothing: AtEnd = Box::new(|failed, _| failed);
            launcher.launch(&Patience { in_flight: 2, ..patience(None) }, Vec::new(), nothing, all_finish)
        });
        std::thread::sleep(GRACE);
        end_first.send(()).unwrap();
        let (third, waited) = third.join().unwrap().unwrap();
        assert!(first.is_over() && !second.is_over() && waited >= GRACE / 2, "{waited:?}");
        third.wait().unwrap();
    });
    assert!(first.times().unwrap().device >= GRACE);
}

#[test]
fn later_failures_report_the_first() {
    let launcher = Launcher::default();
    let patience = Patience { grace: SOON, ..patience(None) };
    let (end, signal) = mpsc::channel::<()>();
    let first = launch(&launcher, &patience, move |reporter| {
        reporter.launched(Ok(()));
        let reporter = reporter.clone();
        std::thread::spawn(move || {
            let _ = signal.recv();
            (0..4).for_each(|device| reporter.finished(device, Err(failure()), ()));
        });
    })
    .unwrap();
    let fails = |reporter: &Reporter| {
        reporter.launched(Ok(()));
        let reporter = reporter.clone();
        std::thread::spawn(move || {
            let _ = end.send(());
            std::thread::sleep(GRACE);
            let error =
                || RuntimeError::Protocol { call: "execute", what: "an input that failed".to_owned() };
            (0..4).for_each(|device| reporter.finished(device, Err(error()), ()));
        });
    };
    let nothing: AtEnd = Box::new(|failed, _| failed);
    let (second, _) = launcher.launch(&patience, vec![first.clone()], nothing, fails).unwrap();
    // Every waiter gets the error, at every call.
    for _ in 0..2 {
        assert!(second.wait().unwrap_err().to_string().contains("device 10: out of order"));
        assert!(first.wait().unwrap_err().to_string().contains("device 10: out of order"));
    }
}

/// The time limit of a launch is counted from the end of earlier launches on its devices.
#[test]
fn time_limit_excludes_earlier_launches() {
    let launcher = Launcher::default();
    let (end_first, first) = mpsc::channel();
    let (end_second, second) = mpsc::channel();
    let first = launch(&launcher, &patience(None), until_signaled(first)).unwrap();
    let limit = Duration::from_millis(400);
    let second = launch(&launcher, &patience(Some(limit)), until_signaled(second)).unwrap();
    std::thread::sleep(limit / 2);
    end_first.send(()).unwrap();
    first.wait().unwrap();
    std::thread::sleep(limit * 3 / 4);
    assert!(!second.is_over());
    end_second.send(()).unwrap();
    second.wait().unwrap();
    let device = second.times().unwrap().device;
    assert!(device < limit, "{device:?}");
}

#[test]
fn release_drops_on_another_thread() {
    struct Tells(mpsc::Sender<Option<String>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().name().map(str::to_owned));
        }
    }
    let launcher = Launcher::default();
    let (sender, dropped) = mpsc::channel();
    launcher.release().unwrap()(Box::new(Tells(sender)));
    assert_eq!(dropped.recv().unwrap().as_deref(), Some("shardc-watch"));
}

#[test]
fn settle_waits_for_all_launches() {
    let launcher = Launcher::default();
    launcher.settle();
    let (send, receive) = mpsc::channel::<Reporter>();
    launch(&launcher, &patience(None), move |reporter| {
        reporter.launched(Ok(()));
        let _ = send.send(reporter.clone());
    })
    .unwrap();
    let reporter = receive.recv().unwrap();
    let (sender, settled) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            launcher.settle();
            let _ = sender.send(());
        });
        assert!(settled.recv_timeout(GRACE).is_err(), "a run is in flight");
        (0..4).for_each(|device| reporter.finished(device, Ok(()), ()));
        assert!(settled.recv_timeout(SOON).is_ok());
    });
}
