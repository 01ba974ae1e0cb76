//! Wrappers that replace the tools of StableHLO and Shardy, and parallel test execution.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::Result;
use shardc_filetest::program;

/// The tools of tests, and the folders that tests may write to.
pub(super) struct Tools {
    dir: PathBuf,
    /// The search path of tests: the wrappers, LLVM's tools, and the existing `PATH`.
    pub(super) path: OsString,
}

impl Tools {
    /// Creates wrappers in which `shardc opt` replaces each of `tools`.
    pub(super) fn new(dir: &Path, shardc: &Path, tools: &[&str]) -> Result<Self> {
        let path = program::search_path(&dir.join("bin"), shardc, tools)?;
        Ok(Tools { dir: dir.to_owned(), path })
    }

    /// Provides an empty folder for the `i`-th test while it runs.
    pub(super) fn with_scratch<T>(&self, i: usize, test: impl FnOnce(&Path) -> T) -> T {
        let scratch = self.dir.join("work").join(i.to_string());
        // If the folder cannot be created, the test fails when it writes there.
        let _ = fs::create_dir_all(&scratch);
        let outcome = test(&scratch);
        let _ = fs::remove_dir_all(&scratch);
        outcome
    }
}

/// Applies `work` to each item on all cores; returns the outcomes in the order of the items.
pub(super) fn in_parallel<I: Sync, O: Send>(items: &[I], work: impl Fn(usize, &I) -> O + Sync) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<BTreeMap<usize, O>> = Mutex::new(BTreeMap::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let (i, Some(item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    (i, items.get(i))
                } {
                    let outcome = work(i, item);
                    if let Ok(mut all) = outcomes.lock() {
                        all.insert(i, outcome);
                    }
                }
            });
        }
    });
    outcomes.into_inner().unwrap_or_default().into_values().collect()
}
