//! Integrity check of installed plugins.
//!
//! Installation writes the SHA-256 of the plugin to a file next to it. Before the plugin is loaded, it is hashed again, and the digests are
//! compared. This detects a file damaged by a full disk, an incomplete copy or another program. It does not protect against an attacker who
//! can write to the cache, and thus also to the digest.
//!
//! Hashing 256 MB takes a large part of a second. So after a successful check, the file's size, change time and inode number are recorded
//! next to it, and the file is hashed again only if one of these properties has changed.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Result, RuntimeError};

/// Returns the path of the plugin with a suffix added.
fn beside(plugin: &Path, ending: &str) -> PathBuf {
    let mut name = plugin.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Computes the SHA-256 of a file, in hexadecimal.
fn of_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(RuntimeError::io(path))?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0u8; 1 << 20];
    loop {
        let size = file.read(&mut chunk).map_err(RuntimeError::io(path))?;
        let Some(data) = chunk.get(..size).filter(|data| !data.is_empty()) else { break };
        hash.update(data);
    }
    Ok(hex(hash))
}

/// Finishes a hash and formats the digest in hexadecimal.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the digest of a plugin next to it.
///
/// # Errors
///
/// A file cannot be read or written.
pub(super) fn record(plugin: &Path) -> Result<()> {
    let path = beside(plugin, ".sha256");
    let (now, digest) = (state(plugin)?, of_file(plugin)?);
    fs::write(&path, &digest).map_err(RuntimeError::io(&path))?;
    note(plugin, &digest, &now);
    Ok(())
}

/// Records that the plugin had this digest when its file had the properties `state`. If the record cannot be written, as in a read-only
/// cache, the plugin is hashed at every load.
fn note(plugin: &Path, digest: &str, state: &str) {
    let _ = fs::write(beside(plugin, ".checked"), format!("{digest} {state}"));
}

/// Compares the digest of a plugin with the digest at its installation. A plugin without a recorded digest is accepted.
///
/// # Errors
///
/// The digests differ, or the plugin cannot be read.
pub(super) fn check(plugin: &Path) -> Result<()> {
    let Ok(expected) = fs::read_to_string(beside(plugin, ".sha256")) else { return Ok(()) };
    let now = state(plugin)?;
    let seen = beside(plugin, ".checked");
    if fs::read_to_string(&seen).is_ok_and(|then| then == format!("{} {now}", expected.trim())) {
        return Ok(());
    }
    let got = of_file(plugin)?;
    if got != expected.trim() {
        return Err(RuntimeError::Damaged {
            path: plugin.to_owned(),
            expected: expected.trim().to_owned(),
            got,
        });
    }
    note(plugin, &got, &now);
    Ok(())
}

/// Returns the properties of a file that change when it is written: its size, change time and inode number.
fn state(path: &Path) -> Result<String> {
    let data = fs::metadata(path).map_err(RuntimeError::io(path))?;
    #[cfg(unix)]
    let (changed, number) = {
        use std::os::unix::fs::MetadataExt;
        // Uses ctime instead of mtime, because a program can reset mtime.
        (format!("{}.{}", data.ctime(), data.ctime_nsec()), data.ino())
    };
    #[cfg(not(unix))]
    let (changed, number) = (format!("{:?}", data.modified().ok()), 0);
    Ok(format!("{} {changed} {number}", data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_plugin_is_rejected_before_loading() {
        let directory = tempfile::tempdir().unwrap();
        let plugin = directory.path().join("x.so");
        fs::write(&plugin, b"abc").unwrap();
        check(&plugin).unwrap();
        record(&plugin).unwrap();
        for _ in 0..2 {
            check(&plugin).unwrap();
        }
        fs::write(&plugin, b"abd").unwrap();
        let error = check(&plugin).unwrap_err();
        assert_eq!(error.code(), "RT0107");
        assert!(error.hint().unwrap().contains("shardc plugin install"));
        let loaded = crate::plugin::Plugin::load(&plugin).unwrap_err();
        assert_eq!(loaded.code(), "RT0107");
        fs::write(&plugin, b"abc").unwrap();
        check(&plugin).unwrap();
    }
}
