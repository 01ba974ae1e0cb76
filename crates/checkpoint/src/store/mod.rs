//! Storage of checkpoints: a folder, memory, or any object store, with blocking calls.
//!
//! Calls are possible from any thread, including threads that run asynchronous tasks, because the store's own threads do the work.

mod driver;
mod file;
mod place;
mod retry;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutPayload};

use self::driver::Driver;
pub use self::retry::Retry;
use crate::error::{CheckpointError, Result};

/// The size in bytes of a part of a multipart upload. Larger objects are uploaded in parts, with several parts at a time; the object
/// appears when all parts are complete.
const PART: usize = 16 << 20;

/// The reason if a request has no answer: see [`Driver::answer`].
const PANICKED: &str = "the request panicked; this is a bug in shardc or in the library of the store";

/// A store of checkpoints. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    /// The path within the object store to which all paths are relative.
    root: Path,
    /// The folder, if the store is a folder of a file system; `None` for other stores.
    folder: Option<PathBuf>,
    retry: Retry,
    driver: Arc<Driver>,
}

impl Store {
    /// Wraps any object store; paths are relative to `root`, which may be empty.
    ///
    /// # Errors
    /// `root` is not a valid path, or threads cannot be started.
    pub fn new(inner: Arc<dyn ObjectStore>, root: &str) -> Result<Store> {
        let root = Path::parse(root).map_err(|error| CheckpointError::Settings(error.to_string()))?;
        Ok(Store { inner, root, folder: None, retry: Retry::default(), driver: Arc::new(Driver::start()?) })
    }

    /// Sets the number and delays of retries of a failed request. Requests to folders are not retried.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Store {
        Store { retry, ..self }
    }

    /// Returns whether the store is a folder of a file system, where folders can be renamed atomically.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    fn path(&self, path: &str) -> Result<Path> {
        Path::parse(join(self.root.as_ref(), path)).map_err(|error| CheckpointError::Store {
            action: "naming",
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Returns the full path of `path` in the file system or object store, for messages.
    pub(crate) fn shown(&self, path: &str) -> String {
        match &self.folder {
            Some(folder) if path.is_empty() => folder.display().to_string(),
            Some(folder) => folder.join(path).display().to_string(),
            None => join(self.root.as_ref(), path),
        }
    }

    /// Returns a path relative to the root of this store; `None` if it is not below the root.
    fn below(&self, path: &Path) -> Option<String> {
        let rest = path.as_ref().strip_prefix(self.root.as_ref())?;
        Some(rest.trim_start_matches('/').to_owned())
    }

    /// Makes a request, and retries it after a transient failure.
    fn request<T, F>(
        &self,
        action: &'static str,
        path: &str,
        make: impl Fn(Arc<dyn ObjectStore>, Path) -> F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let failed = |reason: String| CheckpointError::Store { action, path: self.shown(path), reason };
        let whole = self.path(path)?;
        let mut waits = self.retry.waits(self.folder.is_none());
        loop {
            let done = self.driver.wait_for(make(Arc::clone(&self.inner), whole.clone()));
            match done.ok_or_else(|| failed(PANICKED.to_owned()))? {
                Ok(value) => return Ok(value),
                Err(error) => match waits.next().filter(|_| retry::may_pass(&error)) {
                    Some(wait) => std::thread::sleep(wait),
                    None => return Err(failed(reason(&error))),
                },
            }
        }
    }

    /// Writes an object atomically.
    pub(crate) fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.request("writing", path, |store, path| {
            let payload = PutPayload::from_bytes(bytes.clone());
            async move { store.put(&path, payload).await.map(|_| ()) }
        })
    }

    /// Writes an object atomically from consecutive parts. `part(i)` returns part `i`. If the upload fails and is retried, `part` is called
    /// again for all parts.
    pub(crate) fn put_parts(
        &self,
        path: &str,
        count: usize,
        part: &dyn Fn(usize) -> Result<Bytes>,
    ) -> Result<()> {
        if count == 1 {
            return self.put(path, part(0)?);
        }
        let failed = |error: &Error| CheckpointError::Store {
            action: "writing",
            path: self.shown(path),
            reason: reason(error),
        };
        let gone = || CheckpointError::Store {
            action: "writing",
            path: self.shown(path),
            reason: PANICKED.to_owned(),
        };
        let whole = self.path(path)?;
        let mut waits = self.retry.waits(self.folder.is_none());
        loop {
            let attempt = || -> Result<object_store::Result<()>> {
                let (store, path) = (Arc::clone(&self.inner), whole.clone());
                let begun = self.driver.wait_for(async move { store.put_multipart(&path).await });
                let mut upload = match begun.ok_or_else(gone)? {
                    Ok(upload) => upload,
                    Err(error) => return Ok(Err(error)),
                };
                // Each part is produced while the previous part is being sent.
                let mut sent = None;
                let mut outcome = Ok(());
                for number in 0..count {
                    let bytes = match part(number) {
                        Ok(bytes) => bytes,
                        Err(error) => {
                            let _ = self.driver.wait_for(async move { upload.abort().await });
                            return Err(error);
                        }
                    };
                    outcome = sent.take().map_or(Ok(()), |before| {
                        self.driver.answer(before).unwrap_or(Err(Error::NotImplemented {
                            operation: "put_part".to_owned(),
                            implementer: "a store whose threads are gone".to_owned(),
                        }))
                    });
                    if outcome.is_err() {
                        break;
                    }
                    sent = Some(self.driver.spawn(upload.put_part(PutPayload::from_bytes(bytes))));
                }
                if let (Ok(()), Some(last)) = (&outcome, sent) {
                    outcome = self.driver.answer(last).ok_or_else(gone)?;
                }
                let done = self.driver.wait_for(async move {
                    match outcome {
                        Ok(()) => upload.complete().await.map(|_| ()),
                        Err(error) => {
                            // An incomplete upload is not visible as an object. If aborting also fails, the error of the upload is
                            // returned.
                            let _ = upload.abort().await;
                            Err(error)
                        }
                    }
                });
                done.ok_or_else(gone)
            };
            match attempt()? {
                Ok(()) => return Ok(()),
                Err(error) => match waits.next().filter(|_| retry::may_pass(&error)) {
                    Some(wait) => std::thread::sleep(wait),
                    None => return Err(failed(&error)),
                },
            }
        }
    }

    /// Reads an object; `None` if it does not exist.
    pub(crate) fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.request("reading", path, |store, path| async move {
            absent(async { store.get(&path).await?.bytes().await }.await)
        })
    }

    /// Reads ranges of an object; `None` if it does not exist.
    pub(crate) fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>> {
        self.request("reading", path, |store, path| {
            let ranges = ranges.to_vec();
            async move {
                absent(match ranges.as_slice() {
                    [one] => store.get_range(&path, one.clone()).await.map(|bytes| vec![bytes]),
                    many => store.get_ranges(&path, many).await,
                })
            }
        })
    }

    /// Returns the size of an object in bytes; `None` if it does not exist.
    pub(crate) fn size(&self, path: &str) -> Result<Option<u64>> {
        self.request("reading", path, |store, path| async move {
            absent(store.head(&path).await.map(|meta| meta.size))
        })
    }

    /// Returns the objects below a path, at any depth, with their sizes in bytes; names are relative to the path.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<(String, u64)>> {
        let found = self.request("listing", path, |store, path| async move {
            let list: Vec<_> = store.list(Some(&path)).try_collect().await?;
            Ok(list)
        });
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut list: Vec<(String, u64)> = found?
            .iter()
            .filter_map(|meta| {
                Some((self.below(&meta.location)?.strip_prefix(&prefix)?.to_owned(), meta.size))
            })
            .collect();
        list.sort();
        Ok(list)
    }

    /// Returns the names of the folders directly below a path, sorted.
    pub(crate) fn folders(&self, path: &str) -> Result<Vec<String>> {
        let found = self.request("listing", path, |store, path| async move {
            absent(store.list_with_delimiter(Some(&path)).await)
        })?;
        let folders = found.map(|found| found.common_prefixes).unwrap_or_default();
        let mut names: Vec<String> = folders.iter().filter_map(|p| Some(p.filename()?.to_owned())).collect();
        names.sort();
        Ok(names)
    }

    /// Deletes an object, if it exists.
    pub(crate) fn delete(&self, path: &str) -> Result<()> {
        self.request(
            "deleting",
            path,
            |store, path| async move { absent(store.delete(&path).await).map(|_| ()) },
        )
    }

    /// Deletes all objects below a path, at any depth.
    pub(crate) fn delete_all(&self, path: &str) -> Result<()> {
        if let Some(folder) = &self.folder {
            return match std::fs::remove_dir_all(folder.join(path)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(self.failed("deleting", path, &error))
                }
                _ => Ok(()),
            };
        }
        self.list(path)?.iter().try_for_each(|(name, _)| self.delete(&format!("{path}/{name}")))
    }

    /// Renames a folder of a file system, atomically and durably.
    pub(crate) fn rename_folder(&self, from: &str, to: &str) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Err(CheckpointError::Settings("object stores have no folders to rename".to_owned()));
        };
        let target = folder.join(to);
        std::fs::rename(folder.join(from), &target).map_err(|e| self.failed("renaming", from, &e))?;
        // Syncs the parent folder, which makes the new name durable.
        match target.parent().map(std::fs::File::open) {
            Some(Ok(parent)) => parent.sync_all().map_err(|e| self.failed("renaming", to, &e)),
            _ => Ok(()),
        }
    }
}

/// Joins a folder and a path within it; either may be empty.
pub(crate) fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// Returns the number of bytes per request to an object store.
pub(crate) const fn part_size() -> usize {
    PART
}

/// The maximum delay before a retry.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Converts the error "not found" to `None`.
fn absent<T>(outcome: object_store::Result<T>) -> object_store::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the message of an error, followed by the messages of its causes.
fn reason(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}
