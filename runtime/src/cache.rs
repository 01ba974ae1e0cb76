//! Compilation cache: a folder of compiled executables.
//!
//! The key of an entry is a hash of all inputs of a compilation: the program's text, the options, the plugin's build and the devices. For
//! the CPU plugin, which compiles for the host's processor, the hash also covers the features of that processor. An entry is written to a
//! temporary file and renamed, so several processes can share a folder. A damaged entry is compiled again.
//!
//! Executables are code: anyone who can write to the folder can have code executed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::error::{Result, RuntimeError};

/// The magic bytes at the start of an entry, which end with a version. The version is increased when the format of entries or keys changes.
const MAGIC: &[u8; 16] = b"shardc compiled1";
const DIGEST: usize = 32;

/// A compilation cache in a folder, for [`Client::with_cache`](crate::Client::with_cache).
#[derive(Debug)]
pub struct CompileCache {
    folder: PathBuf,
    salt: String,
    max_bytes: u64,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl CompileCache {
    /// Opens the cache in this folder, which is created if it does not exist. The total size of the entries is limited to 10 GiB, or to the
    /// limit set by [`CompileCache::max_bytes`].
    ///
    /// # Errors
    ///
    /// The folder cannot be created.
    pub fn new(folder: impl Into<PathBuf>) -> Result<CompileCache> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(RuntimeError::io(&folder))?;
        let (hits, misses) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(CompileCache { folder, salt: String::new(), max_bytes: 10 << 30, hits, misses })
    }

    /// Sets a text that is part of the key of every entry. Use it for inputs of compilation that only the plugin reads, such as the
    /// variable `XLA_FLAGS`.
    #[must_use]
    pub fn salt(mut self, salt: impl Into<String>) -> CompileCache {
        self.salt = salt.into();
        self
    }

    /// Sets the maximum total size of the entries. The least recently used entries are removed first.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> CompileCache {
        self.max_bytes = bytes;
        self
    }

    /// The number of programs that this process found in the cache.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The number of programs that this process had to compile because they were not in the cache.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// Returns the path of the entry of a program; `parts` are all inputs of its compilation, from which the key is computed.
    pub(crate) fn entry(&self, parts: &[&[u8]]) -> PathBuf {
        let mut digest = Sha256::new();
        for part in [MAGIC, self.salt.as_bytes()].into_iter().chain(parts.iter().copied()) {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let name: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name).with_extension("xla")
    }

    /// Reads the executable of an entry, if it exists and is intact. Counts hits and misses.
    pub(crate) fn read(&self, entry: &Path) -> Option<Vec<u8>> {
        let found = fs::read(entry).ok().and_then(|bytes| {
            let (head, body) = bytes.split_at_checked(MAGIC.len() + DIGEST)?;
            let (magic, digest) = head.split_at(MAGIC.len());
            let is_whole = magic == MAGIC && digest == Sha256::digest(body).as_slice();
            is_whole.then(|| body.to_vec())
        });
        if found.is_some() {
            // Sets the modification time to now. The modification time records the last use: the entry with the oldest time is removed
            // first.
            let _ = fs::File::open(entry).and_then(|file| file.set_modified(SystemTime::now()));
        }
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Writes an entry, and removes the least recently used entries if the limit is exceeded.
    pub(crate) fn write(&self, entry: &Path, executable: &[u8]) -> Result<()> {
        if executable.len() as u64 > self.max_bytes {
            return Ok(());
        }
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(MAGIC)?;
            file.write_all(&Sha256::digest(executable))?;
            file.write_all(executable)?;
            file.persist(entry).map_err(|error| error.error)?;
            self.prune(entry)
        };
        write().map_err(RuntimeError::io(entry))
    }

    fn prune(&self, kept: &Path) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "xla")
                // Skips an entry that another process has removed meanwhile.
                && let Ok(metadata) = path.metadata()
            {
                entries.push((metadata.modified()?, metadata.len(), path));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in entries.into_iter().filter(|(_, _, path)| path != kept) {
            if total <= self.max_bytes {
                break;
            }
            let _ = fs::remove_file(path);
            total -= size;
        }
        Ok(())
    }
}

/// The features of the host's processor, as the operating system reports them.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_one = |line: &&str| {
        line.starts_with("flags") || line.starts_with("model name") || line.starts_with("Features")
    };
    let mut lines: Vec<&str> = text.lines().filter(is_one).collect();
    lines.sort_unstable();
    lines.dedup();
    format!("{} {}", std::env::consts::ARCH, lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_unless_they_are_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::new(folder.path().join("new")).unwrap();
        let entry = cache.entry(&[b"program", b"options"]);
        assert_ne!(entry, cache.entry(&[b"programo", b"ptions"]));
        assert_eq!(cache.read(&entry), None);
        cache.write(&entry, b"executable").unwrap();
        assert_eq!(cache.read(&entry).as_deref(), Some(&b"executable"[..]));
        let mut bytes = fs::read(&entry).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&entry, &bytes).unwrap();
        assert_eq!(cache.read(&entry), None);
        fs::write(&entry, &bytes[..20]).unwrap();
        assert_eq!(cache.read(&entry), None);
        assert_eq!((cache.hits(), cache.misses()), (1, 3));
        assert_ne!(entry, cache.salt("flags").entry(&[b"program", b"options"]));
    }

    #[test]
    fn oldest_entries_are_removed_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::new(folder.path()).unwrap().max_bytes(400);
        let entries: Vec<PathBuf> = (0u8..4).map(|i| cache.entry(&[&[i]])).collect();
        for (i, entry) in entries.iter().enumerate() {
            cache.write(entry, &[0; 100]).unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(i as u64 + 1);
            fs::File::options().write(true).open(entry).unwrap().set_modified(time).unwrap();
            if i == 1 {
                // Entry 0 is read after it was written, so it is the most recently used of the first two and is kept.
                assert!(cache.read(&entries[0]).is_some());
            }
        }
        let is_there: Vec<bool> = entries.iter().map(|entry| entry.exists()).collect();
        assert_eq!(is_there, [true, false, false, true]);
    }
}
