//! Tests that if a store fails, no complete checkpoint is lost, and incomplete ones are not listed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use shardc_checkpoint::{Alone, Checkpoint, Info, Retry, Store};

use crate::common::{check, save_blocks, small, varied};
use crate::place::Place;

/// An object store that forwards requests to another store, and makes some of them fail.
#[derive(Debug)]
struct Failing {
    inner: Arc<dyn ObjectStore>,
    calls: AtomicUsize,
    /// Every `every`-th request fails; none if 0.
    every: usize,
    /// All requests after this number fail.
    last: usize,
    /// The free space in bytes; a write that needs more fails.
    room: AtomicUsize,
}

impl Failing {
    /// Creates a store of which every `every`-th request fails.
    fn every(inner: &Arc<dyn ObjectStore>, every: usize) -> Arc<Failing> {
        Failing::new(inner, every, usize::MAX, usize::MAX)
    }

    /// Creates a store with `room` bytes of free space.
    fn full(inner: &Arc<dyn ObjectStore>, room: usize) -> Arc<Failing> {
        Failing::new(inner, 0, usize::MAX, room)
    }

    /// Creates a store that fails permanently after `last` requests.
    fn gone(inner: &Arc<dyn ObjectStore>, last: usize) -> Arc<Failing> {
        Failing::new(inner, 0, last, usize::MAX)
    }

    fn new(inner: &Arc<dyn ObjectStore>, every: usize, last: usize, room: usize) -> Arc<Failing> {
        Arc::new(Failing { inner: inner.clone(), calls: AtomicUsize::new(0), every, last, room: room.into() })
    }

    /// Returns the number of requests so far.
    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn call(&self) -> object_store::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        match call > self.last || self.every > 0 && call.is_multiple_of(self.every) {
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
        match self.call() {
            Ok(()) => self.inner.delete_stream(locations),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    fn list(&self, prefix: Option<&ObjectPath>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        match self.call() {
            Ok(()) => self.inner.list(prefix),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
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
        self.call()?;
        self.inner.copy_opts(from, to, options).await
    }
}

/// Returns a retry policy with this number of attempts, almost without delay.
fn quick(attempts: u32) -> Retry {
    Retry { attempts, first_wait: Duration::from_millis(1) }
}

pub(crate) fn failing_every_third_request_loses_nothing(place: &Place) {
    // Every third request fails. With concurrent requests, a retried request may be a third one again, but hardly sixteen times.
    let store = Store::new(Failing::every(&place.objects, 3), &place.root).unwrap().with_retry(quick(16));
    let arrays = varied(&[4, 2]);
    save_blocks(&store, "s", &arrays, &Info::default(), &Alone).unwrap();
    let checkpoint = Checkpoint::open(&store, "s").unwrap();
    check(&checkpoint, &arrays, &[2, 4], 0, 1);
    assert_eq!(checkpoint.verify(None).unwrap(), []);
}

pub(crate) fn failing_store_reports_the_reason(place: &Place) {
    let store = Store::new(Failing::every(&place.objects, 1), &place.root).unwrap().with_retry(quick(3));
    let error = save_blocks(&store, "s", &small(), &Info::default(), &Alone).unwrap_err();
    assert!(error.code() == "SH1301" && error.to_string().contains("the line is down"), "{error}");
}

pub(crate) fn full_store_keeps_complete_checkpoints(place: &Place) {
    let arrays = small();
    let bytes: usize = arrays.values().map(|(array, _)| array.bytes.len()).sum();
    let store = Store::new(Failing::full(&place.objects, bytes * 3 / 2), &place.root).unwrap();
    save_blocks(&store, "1", &arrays, &Info::default(), &Alone).unwrap();
    let error = save_blocks(&store, "2", &arrays, &Info::default(), &Alone).unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
    let missing = Checkpoint::open(&store, "2").unwrap_err();
    assert_eq!(missing.code(), "SH1305");
    check(&Checkpoint::open(&store, "1").unwrap(), &arrays, &[2, 2], 0, 1);
}

/// If the store fails permanently after any request, the checkpoint is either complete or does not exist.
pub(crate) fn interrupted_save_is_complete_or_absent(place: &Place) {
    let arrays = small();
    let open = || Store::new(place.objects.clone(), &place.root).unwrap();
    let counting = Failing::every(&place.objects, 0);
    let store = Store::new(counting.clone(), &place.root).unwrap();
    save_blocks(&store, "all", &arrays, &Info::default(), &Alone).unwrap();
    let requests = counting.calls();
    assert!(requests > 8, "{requests}");
    for last in 0..requests {
        let gone = Failing::gone(&place.objects, last);
        let store = Store::new(gone, &place.root).unwrap().with_retry(quick(1));
        let path = format!("after {last}");
        let outcome = save_blocks(&store, &path, &arrays, &Info::default(), &Alone);
        match Checkpoint::open(&open(), &path) {
            // A checkpoint may be complete although the save failed, if only a response of the store was lost.
            Ok(checkpoint) => check(&checkpoint, &arrays, &[1, 1], 0, 1),
            Err(error) => {
                assert!(outcome.is_err(), "{last} of {requests}");
                assert_eq!(error.code(), "SH1305", "{last} of {requests}: {error}");
                // Files of an incomplete save do not prevent another save.
                save_blocks(&open(), &path, &arrays, &Info::default(), &Alone).unwrap();
                check(&Checkpoint::open(&open(), &path).unwrap(), &arrays, &[1, 1], 0, 1);
            }
        }
    }
}
