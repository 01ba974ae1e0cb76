//! Files and folders that live no longer than the process that made them.
//!
//! Each goes when its [`Scratch`] is dropped. A process that a signal ends drops nothing, so every path is in a list
//! too, and the thread of a program that waits for signals empties it with [`remove_all`].

use std::collections::BTreeSet;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LIST: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn list() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder that a signal takes away as well.
#[derive(Debug)]
pub struct Scratch<T> {
    // Dropped in this order: what is gone may be forgotten, not the other way round.
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
    /// Makes a temporary file or folder and puts it on the list.
    ///
    /// # Errors
    /// What `make` says.
    pub fn new(make: impl FnOnce() -> io::Result<T>) -> io::Result<Scratch<T>> {
        // Held while it is made, so that no signal falls between the file and its entry.
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

/// A guard: while it lives, [`remove_all`] waits.
#[must_use]
pub struct Undisturbed(#[allow(dead_code, reason = "held, not read")] MutexGuard<'static, BTreeSet<PathBuf>>);

/// Keeps [`remove_all`] waiting while several files take their places. No [`Scratch`] may be made or dropped by this
/// thread meanwhile.
pub fn undisturbed() -> Undisturbed {
    Undisturbed(list())
}

/// Removes all that is temporary. Nothing temporary can be made after that: the process has to end.
pub fn remove_all() {
    let list = list();
    for path in list.iter() {
        // What cannot be removed stays: nobody is left to be told.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    std::mem::forget(list);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_forgotten() {
        let scratch = Scratch::new(tempfile::tempdir).unwrap();
        let path = scratch.path().to_owned();
        assert!(path.is_dir() && list().contains(&path));
        drop(scratch);
        assert!(!path.exists() && !list().contains(&path));
    }
}
