//! Tests that if a real file system is full or read-only, complete checkpoints are unchanged, and incomplete ones are not listed.
//!
//! All tests except one mount a file system, which requires root.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Arrays, array, check, part, save_blocks, small, state_of};
use object_store::local::LocalFileSystem;
use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointError, CheckpointManager, Entry, Info, Options, Region, Retry, Store,
};
use shardc_filetest::skip::{Need, skip};
use shardc_ir::DType;
use tempfile::TempDir;

/// A small in-memory file system.
struct Mount(TempDir);

impl Mount {
    /// Mounts a file system of this size; `None` if mounting is not permitted.
    fn new(mebibytes: usize) -> Option<Mount> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={mebibytes}m");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &size, "shardc"]).arg(folder.path());
        match command.output() {
            Ok(output) if output.status.success() => Some(Mount(folder)),
            Ok(output) => {
                skip(Need::Mount, String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                skip(Need::Mount, &format!("mount: {error}"));
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Remounts the file system with an option: `rw` (writable) or `ro` (read-only).
    fn set(&self, option: &str) {
        let options = format!("remount,{option}");
        assert!(Command::new("mount").args(["-o", &options]).arg(self.path()).status().unwrap().success());
    }

    /// Fills the file system until only this number of bytes is free.
    fn leave(&self, bytes: usize) {
        let filler = self.path().join("filler");
        fs::write(&filler, "").unwrap();
        let output = Command::new("df").args(["-B1", "--output=avail"]).arg(self.path()).output().unwrap();
        let free: usize =
            String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().trim().parse().unwrap();
        fs::write(&filler, vec![1; free.saturating_sub(bytes)]).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn arrays() -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("params.w".to_owned(), (array(1, DType::F32, &[512, 700]), vec![4, 1]));
    arrays.insert("params.b".to_owned(), (array(2, DType::BF16, &[333]), vec![2]));
    arrays
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn manager(store: &Store) -> CheckpointManager {
    let options = Options { save_on_preemption: false, ..Options::default() };
    CheckpointManager::new(store, "run", options).unwrap()
}

fn save(manager: &CheckpointManager, step: u64, arrays: &Arrays) -> Result<(), CheckpointError> {
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    manager.save(step, &state_of(arrays, &Info::default(), &Alone), &read)
}

/// Saves repeatedly with less and less free space, down to none. Complete steps must stay readable.
fn fill(mount: &Mount, store: &Store) {
    let arrays = arrays();
    let run = manager(store);
    save(&run, 1, &arrays).unwrap();
    let bytes: usize = arrays.values().map(|(array, _)| array.bytes.len()).sum();
    let mut refused = 0;
    // The free space decreases from enough to nothing, so that writes of the data, of the metadata and of the commit fail in turn.
    let rooms = [2 * bytes, bytes + (40 << 10), bytes + (12 << 10), bytes, bytes / 2, 8 << 10, 0];
    for (room, step) in rooms.into_iter().zip(2..) {
        mount.leave(room);
        let outcome = save(&run, step, &arrays);
        let mut whole = vec![1];
        match outcome {
            Ok(()) => whole.push(step),
            Err(error) => {
                refused += 1;
                assert!(error.code() == "SH1301" && error.to_string().contains("No space left"), "{error}");
                assert_eq!(run.open(step).unwrap_err().code(), "SH1305");
            }
        }
        // A new manager lists the same steps as this one.
        for run in [&run, &manager(store)] {
            assert_eq!(run.all_steps().unwrap(), whole, "with room for {room} bytes");
        }
        for &step in &whole {
            let checkpoint: Checkpoint = run.open(step).unwrap();
            check(&checkpoint, &arrays, &[2, 2], 0, 1);
            assert_eq!(checkpoint.verify(None).unwrap(), []);
        }
        if whole.len() > 1 {
            run.delete(step).unwrap();
        }
    }
    assert!((4..rooms.len()).contains(&refused), "{refused} of {} saves were refused", rooms.len());

    // The error of an asynchronous save is returned by the next call.
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    run.save_async(50, &state_of(&arrays, &Info::default(), &Alone), &read).unwrap();
    let error = run.wait().unwrap_err();
    assert!(error.code() == "SH1313" && error.to_string().contains("No space left"), "{error}");
    // After space is freed, the next save succeeds.
    fs::remove_file(mount.path().join("filler")).unwrap();
    save(&run, 51, &arrays).unwrap();
    assert_eq!(run.all_steps().unwrap(), [1, 51]);
    let mut left = files(&mount.path().join("run"));
    left.retain(|file| !["/run/1/", "/run/51/"].iter().any(|step| file.to_string_lossy().contains(step)));
    assert!(left.is_empty(), "rejected saves left {left:?}");
}

#[test]
fn full_disk_keeps_complete_checkpoints() {
    let Some(mount) = Mount::new(16) else { return };
    fill(&mount, &Store::folder(mount.path()).unwrap());
}

#[test]
fn full_disk_keeps_complete_checkpoints_with_markers() {
    let Some(mount) = Mount::new(16) else { return };
    let files = LocalFileSystem::new_with_prefix(mount.path()).unwrap().with_automatic_cleanup(true);
    let retry = Retry { attempts: 2, first_wait: Duration::from_millis(1) };
    fill(&mount, &Store::new(Arc::new(files), "").unwrap().with_retry(retry));
}

#[test]
fn read_only_folder_can_be_read() {
    let Some(mount) = Mount::new(16) else { return };
    let store = Store::folder(mount.path()).unwrap();
    let arrays = arrays();
    let run = manager(&store);
    save(&run, 1, &arrays).unwrap();
    mount.set("ro");
    let error = save(&run, 2, &arrays).unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("Read-only file system"), "{error}");
    let error = run.delete(1).unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("Read-only file system"), "{error}");
    let other = manager(&store);
    assert_eq!(other.all_steps().unwrap(), [1]);
    check(&other.open(1).unwrap(), &arrays, &[2, 2], 0, 1);
    mount.set("rw");
    save(&run, 2, &arrays).unwrap();
    assert_eq!(other.all_steps().unwrap(), [1, 2]);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error() {
    // Not even root can create folders in /proc.
    let read_only = Path::new("/proc/shardc-checkpoints");
    if !Path::new("/proc").is_dir() {
        return;
    }
    let error = save_blocks(&Store::folder(read_only).unwrap(), "s", &small(), &Info::default(), &Alone);
    let error = error.unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("/proc/shardc-checkpoints"), "{error}");
}
