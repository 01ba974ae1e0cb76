//! Tests of the checkpoint manager: saving, retention, asynchronous saves, and preemption.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::common::{Arrays, array, check, part, state_of};
use shardc_checkpoint::{
    Alone, CheckpointManager, Entry, Info, Keep, Options, Processes as _, Region, Store, Threads,
};
use shardc_ir::DType;

fn arrays(step: u64) -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(step, DType::F32, &[6, 10]), vec![2, 1]));
    arrays.insert("m.v".to_owned(), (array(step + 1000, DType::BF16, &[7]), vec![2]));
    arrays
}

fn save(manager: &CheckpointManager, step: u64) -> shardc_checkpoint::Result<()> {
    let arrays = arrays(step);
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    manager.save(step, &state_of(&arrays, &Info::default(), &Alone), &read)
}

fn save_async(manager: &CheckpointManager, step: u64) -> shardc_checkpoint::Result<()> {
    let arrays = arrays(step);
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    manager.save_async(step, &state_of(&arrays, &Info::default(), &Alone), &read)
}

fn options() -> Options {
    Options { save_on_preemption: false, ..Options::default() }
}

#[test]
fn invalid_options_are_rejected() {
    let store = Store::memory().unwrap();
    let keep = |newest, every| Options { keep: Keep { newest, every }, ..options() };
    for bad in [
        Options { save_interval: 0, ..options() },
        Options { max_pending: 0, ..options() },
        keep(Some(0), None),
        keep(None, Some(0)),
    ] {
        let error = CheckpointManager::new(&store, "", bad).unwrap_err();
        assert!(error.code() == "SH1312" && error.to_string().contains("at least 1"), "{error}");
    }
    let manager = CheckpointManager::new(&store, "", options()).unwrap();
    assert_eq!(manager.reached_preemption(1).unwrap_err().code(), "SH1312");
}

#[test]
fn values_are_copied_and_written_in_the_background() {
    let store = Store::memory().unwrap();
    let reported = Arc::new(AtomicU64::new(0));
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let progress = {
        let reported = Arc::clone(&reported);
        // The first write blocks until the test releases it.
        move |step: u64, done: u64, all: u64| {
            assert!(done <= all);
            if reported.swap(step, Ordering::SeqCst) == 0 {
                released.lock().unwrap().recv_timeout(Duration::from_secs(60)).unwrap();
            }
        }
    };
    let options = Options { progress: Some(Arc::new(progress)), ..options() };
    let manager = CheckpointManager::new(&store, "run", options).unwrap();
    save_async(&manager, 1).unwrap();
    assert!(manager.all_steps().unwrap().is_empty(), "it is not complete yet");
    release.send(()).unwrap();
    // Only one save runs at a time: the second waits for the first.
    save_async(&manager, 2).unwrap();
    assert!(manager.all_steps().unwrap().contains(&1));
    save(&manager, 3).unwrap();
    assert_eq!(manager.all_steps().unwrap(), [1, 2, 3]);
    for step in [1, 2, 3] {
        check(&manager.open(step).unwrap(), &arrays(step), &[1, 1], 0, 1);
    }
    // The error of an asynchronous save is returned once, by the next call.
    save_async(&manager, 2).unwrap();
    let error = manager.wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the background save of step 2 failed: a checkpoint already exists at run/2"
    );
    assert_eq!((error.code(), manager.wait()), ("SH1313", Ok(())));
    save_async(&manager, 4).unwrap();
    drop(manager);
    let manager =
        CheckpointManager::new(&store, "run", Options { save_on_preemption: false, ..Options::default() });
    assert_eq!(manager.unwrap().latest().unwrap(), Some(4));
}

#[test]
fn interrupted_saves_are_not_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    save(&CheckpointManager::new(&store, "", options()).unwrap(), 7).unwrap();
    for name in ["8.orbax-checkpoint-tmp/default", "6.deleted.orbax-checkpoint-tmp", "notes"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let manager = CheckpointManager::new(&store, "", options()).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!((manager.all_steps().unwrap(), names), (vec![7], vec!["7".to_owned(), "notes".to_owned()]));
}

#[cfg(unix)]
#[test]
fn signal_to_one_process_reaches_all() {
    let store = Store::memory().unwrap();
    let heard = Mutex::new(Vec::new());
    let options = || Options { save_interval: 100, ..Options::default() };
    let group = Threads::group(2, Duration::from_secs(60));
    std::thread::scope(|scope| {
        for process in &group {
            let (store, heard) = (&store, &heard);
            scope.spawn(move || {
                let processes = Arc::new(process.clone());
                let manager = CheckpointManager::with_processes(store, "run", options(), processes).unwrap();
                for step in 1..=4 {
                    if step == 3 && process.index() == 1 {
                        let pid = std::process::id().to_string();
                        let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status();
                        assert!(sent.unwrap().success());
                        // The signal is delivered asynchronously, so the thread sleeps until it has arrived.
                        std::thread::sleep(Duration::from_millis(200));
                    }
                    if manager.should_save(step).unwrap() {
                        heard.lock().unwrap().push((process.index(), step));
                        let arrays = arrays(step);
                        let read = |e: &Entry, region: &Region| Ok(part(&arrays[&e.name].0, region));
                        manager.save(step, &state_of(&arrays, &Info::default(), process), &read).unwrap();
                        break;
                    }
                }
                process.barrier("end").unwrap();
            });
        }
    });
    let mut heard = heard.into_inner().unwrap();
    heard.sort_unstable();
    assert_eq!(heard, [(0, 3), (1, 3)]);
    let manager = CheckpointManager::new(&store, "run", options()).unwrap();
    assert_eq!(manager.latest().unwrap(), Some(3));
}
