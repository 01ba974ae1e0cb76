//! What is torn, flipped, missing or refused is found and named, and loses nothing that was whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use common::{Arrays, array, check, save_own, varied};
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use shardc_checkpoint::{Alone, Checkpoint, CheckpointError, Fit, Info, Region, Retry, Store, Wanted};
use shardc_ir::DType;

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// What opening and verifying say.
fn faults(store: &Store, path: &str) -> Vec<String> {
    match Checkpoint::open(store, path).and_then(|checkpoint| checkpoint.verify(None)) {
        Ok(damages) => damages.iter().map(|d| format!("{} {}", d.object, d.what)).collect(),
        Err(CheckpointError::Damaged(damages)) => {
            damages.iter().map(|d| format!("{} {}", d.object, d.what)).collect()
        }
        Err(error @ CheckpointError::Metadata { .. }) => vec![error.to_string()],
        Err(error) => panic!("{error}"),
    }
}

fn small() -> Arrays {
    let mut arrays = Arrays::new();
    arrays.insert("w".to_owned(), (array(1, DType::F32, &[700, 900]), vec![2, 1]));
    arrays.insert("layer.b".to_owned(), (array(2, DType::BF16, &[5]), vec![2]));
    arrays
}

#[test]
fn every_file_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    save_own(&store, "s", &small(), &Info::default(), &Alone).unwrap();
    assert_eq!(faults(&store, "s"), Vec::<String>::new());
    let root = folder.path().join("s");
    for file in files(&root) {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if name == "commit_success.txt" {
            // Its being there is what it says.
            continue;
        }
        let good = fs::read(&file).unwrap();
        let flipped = |at: usize| {
            let mut bad = good.clone();
            bad[at] ^= 4;
            bad
        };
        let last = good.len() - 1;
        let bad = [
            flipped(0),
            flipped(last / 2),
            flipped(last.saturating_sub(2)),
            good[..last].to_vec(),
            good[..last / 3].to_vec(),
        ];
        for (i, bad) in bad.iter().enumerate() {
            fs::write(&file, bad).unwrap();
            let found = faults(&store, "s");
            assert!(found.len() == 1 && found[0].contains(&name), "{name}, damage {i}: {found:?}");
        }
        if name != "shardc.json" {
            fs::remove_file(&file).unwrap();
            let found = faults(&store, "s");
            assert!(
                found.len() == 1 && found[0].contains(&name) && found[0].contains("missing"),
                "{found:?}"
            );
        }
        fs::write(&file, &good).unwrap();
    }
    assert_eq!(faults(&store, "s"), Vec::<String>::new());
}

#[test]
fn all_damage_is_told_at_once_and_nothing_wrong_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let arrays = small();
    save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    for name in ["w/c/0/0", "w/c/1/0", "layer.b/c/1"] {
        let file = folder.path().join("s").join(name);
        let mut bytes = fs::read(&file).unwrap();
        bytes[1] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    let found: Vec<String> = checkpoint.verify(None).unwrap().into_iter().map(|d| d.object).collect();
    assert_eq!(found, ["layer.b/c/1", "w/c/0/0", "w/c/1/0"]);
    let wanted = |(name, (array, _)): (&String, &(common::Array, Vec<usize>))| Wanted {
        name: name.clone(),
        dtype: array.dtype,
        shape: array.shape.clone(),
        regions: vec![Region::whole(&array.shape)],
    };
    let wanted: Vec<Wanted> = arrays.iter().map(wanted).collect();
    let mut taken = 0;
    let mut take = |_, _, _: &mut Vec<u8>| {
        taken += 1;
        Ok(())
    };
    let error = checkpoint.restore(&wanted, &Fit::default(), &mut take, None).unwrap_err();
    let CheckpointError::Damaged(damages) = error else { panic!("{error}") };
    assert_eq!(damages.iter().map(|d| d.object.as_str()).collect::<Vec<_>>(), found);
    assert_eq!(taken, 0);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error() {
    // Nobody may make folders in /proc, not even root.
    let read_only = Path::new("/proc/shardc-checkpoints");
    if !Path::new("/proc").is_dir() {
        return;
    }
    let error = save_own(&Store::folder(read_only).unwrap(), "s", &small(), &Info::default(), &Alone);
    let error = error.unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("/proc/shardc-checkpoints"), "{error}");
}

/// A store that fails on purpose.
#[derive(Debug)]
struct Failing {
    inner: InMemory,
    calls: AtomicUsize,
    /// Every so many calls fail; none where 0.
    every: usize,
    /// Bytes that there is room for.
    room: AtomicUsize,
}

impl Failing {
    fn new(every: usize, room: usize) -> Arc<Failing> {
        Arc::new(Failing { inner: InMemory::new(), calls: AtomicUsize::new(0), every, room: room.into() })
    }

    fn call(&self) -> object_store::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        match self.every > 0 && call.is_multiple_of(self.every) {
            true => Err(Error::Generic { store: "failing", source: "the line is down".into() }),
            false => Ok(()),
        }
    }

    fn take(&self, bytes: usize) -> object_store::Result<()> {
        let taken =
            self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| Error::PermissionDenied {
            path: "the disk".to_owned(),
            source: "no space left on device".into(),
        })
    }
}

impl std::fmt::Display for Failing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Failing")
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(
        &self,
        location: &ObjectPath,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.call()?;
        self.take(payload.content_length())?;
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &ObjectPath,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.call()?;
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &ObjectPath, options: GetOptions) -> object_store::Result<GetResult> {
        self.call()?;
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(
        &self,
        location: &ObjectPath,
        ranges: &[Range<u64>],
    ) -> object_store::Result<Vec<Bytes>> {
        self.call()?;
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<ObjectPath>>,
    ) -> BoxStream<'static, object_store::Result<ObjectPath>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> object_store::Result<ListResult> {
        self.call()?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &ObjectPath,
        to: &ObjectPath,
        options: CopyOptions,
    ) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[test]
fn a_store_that_fails_every_third_request_loses_nothing() {
    let retry = Retry { attempts: 8, first_wait: Duration::from_millis(1) };
    let store = Store::new(Failing::new(3, usize::MAX), "bucket/run").unwrap().with_retry(retry);
    let arrays = varied(&[4, 2]);
    save_own(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    check(&checkpoint, &arrays, &[2, 4], 0, 1);
    assert_eq!(checkpoint.verify(None).unwrap(), []);
}

#[test]
fn a_store_that_always_fails_says_why() {
    let retry = Retry { attempts: 3, first_wait: Duration::from_millis(1) };
    let store = Store::new(Failing::new(1, usize::MAX), "").unwrap().with_retry(retry);
    let error = save_own(&store, "s", &small(), &Info::default(), &Alone).unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("the line is down"), "{error}");
}

#[test]
fn a_full_disk_keeps_what_was_whole() {
    let arrays = small();
    let bytes: usize = arrays.values().map(|(array, _)| array.bytes.len()).sum();
    let store = Store::new(Failing::new(0, bytes * 3 / 2), "").unwrap();
    save_own(&store, "1", &arrays, &Info::default(), &Alone).unwrap();
    let error = save_own(&store, "2", &arrays, &Info::default(), &Alone).unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
    let missing = Checkpoint::open(&store, "2").unwrap_err();
    assert_eq!(missing.code(), "SH1305");
    check(&Checkpoint::open(&store, "1").unwrap(), &arrays, &[2, 2], 0, 1);
}
