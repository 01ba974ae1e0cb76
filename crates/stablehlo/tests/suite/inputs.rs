//! Files that several tests read.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of shared data, which may not exist.
pub(crate) fn shared() -> PathBuf {
    match std::env::var_os("SHARDC_SHARED") {
        Some(path) => path.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    }
}

/// Returns the files of a folder whose names end in `ending`, sorted.
pub(crate) fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    paths
}
