//! Temporary files and folders of this process.
//!
//! Each file or folder is removed when its [`Scratch`] is dropped. A process that is killed by a signal does not drop values, so every path
//! is also recorded in a global list. On a signal, the signal-handling thread of a program calls [`remove_all`], which removes all of them.

use std::collections::BTreeSet;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LIST: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn list() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder that is also removed on a signal.
#[derive(Debug)]
pub struct Scratch<T> {
    // Fields are dropped in this order: the file must be removed before its path leaves the global list.
    held: T,
    _entry: Entry,
}

#[derive(Debug)]
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        list().remove(&self.0);
    }
}

impl<T: AsRef<Path>> Scratch<T> {
    /// Creates a temporary file or folder and adds its path to the global list.
    ///
    /// # Errors
    /// The error of `make`.
    pub fn new(make: impl FnOnce() -> io::Result<T>) -> io::Result<Scratch<T>> {
        // The lock is held during creation, so that [`remove_all`] cannot run between the creation of the file and the addition of its
        // path.
        let mut list = list();
        let held = make()?;
        let path = held.as_ref().to_owned();
        list.insert(path.clone());
        Ok(Scratch { held, _entry: Entry(path) })
    }
}

impl<T> Deref for Scratch<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held
    }
}

/// A guard that blocks [`remove_all`] while it exists.
#[must_use]
pub struct Undisturbed(#[allow(dead_code, reason = "held, not read")] MutexGuard<'static, BTreeSet<PathBuf>>);

/// Blocks [`remove_all`] while several files are renamed to their final paths. While the guard exists, this thread must not create or drop
/// a [`Scratch`], which would deadlock.
pub fn undisturbed() -> Undisturbed {
    Undisturbed(list())
}

/// Removes all temporary files. No [`Scratch`] can be created afterwards: the process must exit.
pub fn remove_all() {
    let list = list();
    for path in list.iter() {
        // Errors are ignored, because the process is about to end.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    std::mem::forget(list);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_files_leave_the_list() {
        let scratch = Scratch::new(tempfile::tempdir).unwrap();
        let path = scratch.path().to_owned();
        assert!(path.is_dir() && list().contains(&path));
        drop(scratch);
        assert!(!path.exists() && !list().contains(&path));
    }
}
