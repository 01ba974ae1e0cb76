//! Tests of several processes of one job, which are simulated by threads: exchange of bytes, and detection of processes that end or are
//! lost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use shardc_runtime::{ProcessOptions, Processes, RuntimeError, Secret};

/// Returns an address of this machine with a port that was free when this function tested it.
fn coordinator() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn options(index: usize, count: usize, coordinator: &str) -> ProcessOptions {
    let secret = Secret::new("a secret that only tests know").unwrap();
    ProcessOptions {
        connect_timeout: Duration::from_secs(20),
        patience: Duration::from_secs(2),
        time_limit: Duration::from_secs(4),
        ..ProcessOptions::new(index, count, coordinator, secret)
    }
}

/// Calls `process` for each process of a job, each on its own thread; returns the results by process index.
fn job<R: Send>(count: usize, process: impl Fn(Processes) -> R + Sync) -> Vec<R> {
    let at = coordinator();
    std::thread::scope(|scope| {
        let start = |index| {
            let (at, process) = (&at, &process);
            scope.spawn(move || process(Processes::connect(options(index, count, at)).unwrap()))
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn processes_all_gather() {
    let gathered = job(4, |processes| {
        processes.barrier("start").unwrap();
        let mine = vec![processes.index() as u8; processes.index()];
        let first = processes.all_gather("bytes", &mine).unwrap();
        let second = processes.all_gather("bytes", b"x").unwrap();
        assert_eq!(second, vec![b"x".to_vec(); 4]);
        first
    });
    let expected: Vec<Vec<u8>> = (0..4).map(|i| vec![i as u8; i]).collect();
    assert_eq!(gathered, vec![expected; 4]);
}

#[test]
fn store_lookups_wait() {
    job(3, |processes| {
        if processes.index() == 2 {
            assert_eq!(processes.try_get("late").unwrap(), None);
            std::thread::sleep(Duration::from_millis(50));
            processes.put("late", b"value").unwrap();
        }
        let value = processes.get("late", Duration::from_secs(10)).unwrap();
        assert_eq!(value, b"value");
        assert_eq!(processes.try_get("late").unwrap().as_deref(), Some(&b"value"[..]));
        let error = processes.get("never", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.code(), "RT0703");
        processes.barrier("end").unwrap();
    });
}

#[test]
fn missing_process_is_named() {
    let errors = job(2, |processes| {
        if processes.index() == 1 {
            // Never reaches the barrier of the other processes, but stays alive.
            std::thread::sleep(Duration::from_secs(5));
            return None;
        }
        Some(processes.barrier("here").unwrap_err())
    });
    let RuntimeError::ProcessTimeout { missing, .. } = errors[0].as_ref().unwrap() else { panic!() };
    assert_eq!(missing, &[1]);
}

#[test]
fn ended_process_is_not_awaited() {
    let errors = job(2, |processes| match processes.index() {
        0 => Some((Instant::now(), processes.barrier("end").unwrap_err())),
        _ => None,
    });
    let (started, error) = errors[0].as_ref().unwrap();
    assert!(started.elapsed() < Duration::from_secs(3));
    assert_eq!(error.code(), "RT0702");
    assert!(error.to_string().contains("process 1"), "{error}");
    assert!(error.to_string().contains("has ended"), "{error}");
}

#[test]
fn wrong_secrets_and_strangers_are_rejected() {
    let at = coordinator();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| Processes::connect(options(0, 2, &at)).map(|p| p.all_gather("a", b"0")));
        let mut stranger = loop {
            match TcpStream::connect(&at) {
                Ok(stream) => break stream,
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        stranger
            .write_all(b"GET / HTTP/1.1\r\n\r\n and more than a greeting has, so that it is read at once")
            .unwrap();
        let secret = Secret::new("quite another secret").unwrap();
        let error = Processes::connect(ProcessOptions { secret, ..options(1, 2, &at) }).unwrap_err();
        assert_eq!(error.code(), "RT0701");
        assert!(error.to_string().contains("different secret"), "{error}");
        let second = Processes::connect(options(1, 2, &at)).unwrap();
        assert_eq!(second.all_gather("a", b"1").unwrap(), [b"0", b"1"]);
        assert_eq!(first.join().unwrap().unwrap().unwrap(), [b"0", b"1"]);
    });
}

#[test]
fn missing_processes_time_out() {
    let options =
        ProcessOptions { connect_timeout: Duration::from_millis(300), ..options(0, 3, &coordinator()) };
    let error = Processes::connect(options).unwrap_err();
    assert!(error.to_string().contains("[1, 2]"), "{error}");
    let options = ProcessOptions {
        connect_timeout: Duration::from_millis(300),
        index: 1,
        ..self::options(0, 3, &coordinator())
    };
    let error = Processes::connect(options).unwrap_err();
    assert!(error.to_string().contains("process 1 cannot reach process 0"), "{error}");
}
