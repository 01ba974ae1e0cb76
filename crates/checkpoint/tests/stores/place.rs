//! Creates an empty store of each kind for a test, with direct access to its objects.

use std::fmt;
use std::sync::{Arc, OnceLock};

use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt as _};
use shardc_checkpoint::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use url::Url;

use crate::common::moto::{self, Server};

/// A kind of store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Folder,
    S3,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Memory, Kind::Folder, Kind::S3];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Memory => "memory",
            Kind::Folder => "folder",
            Kind::S3 => "s3",
        })
    }
}

/// A store that is initially empty.
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// The store under test.
    pub(crate) store: Store,
    /// The object store that contains the objects of `store`, for checks that bypass [`Store`].
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// The path prefix of the store's objects in `objects`.
    pub(crate) root: String,
    runtime: Runtime,
    _folder: Option<TempDir>,
}

impl Place {
    /// Creates an empty store for the test with this name. If a dependency is missing, prints a message and returns `None`.
    pub(crate) fn new(kind: Kind, test: &str) -> Option<Place> {
        let place = |store, objects, root, folder| Place {
            kind,
            store,
            objects,
            root,
            runtime: Runtime::new().unwrap(),
            _folder: folder,
        };
        Some(match kind {
            Kind::Memory => {
                let objects = Arc::new(InMemory::new());
                let store = Store::new(objects.clone(), "run").unwrap();
                place(store, objects, "run".to_owned(), None)
            }
            Kind::Folder => {
                let folder = tempfile::tempdir().unwrap();
                let objects = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
                place(Store::folder(folder.path()).unwrap(), objects, String::new(), Some(folder))
            }
            Kind::S3 => {
                let options = moto::options(server()?);
                // All tests share the bucket.
                let url = format!("{}/{}", Server::BUCKET, test.replace("::", "/"));
                let (objects, root) =
                    object_store::parse_url_opts(&Url::parse(&url).unwrap(), options.clone()).unwrap();
                place(Store::open(&url, &options).unwrap(), objects.into(), root.to_string(), None)
            }
        })
    }

    fn path(&self, name: &str) -> ObjectPath {
        ObjectPath::parse(format!("{}/{name}", self.root).trim_matches('/')).unwrap()
    }

    /// Returns the names of all objects below a path, relative to that path.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let path = self.path(path);
        let list = async { self.objects.list(Some(&path)).try_collect::<Vec<_>>().await };
        let prefix = if path.as_ref().is_empty() { String::new() } else { format!("{path}/") };
        let found = self.runtime.block_on(list).unwrap();
        let name = |location: &ObjectPath| location.as_ref().strip_prefix(&prefix).unwrap().to_owned();
        let mut names: Vec<String> = found.iter().map(|meta| name(&meta.location)).collect();
        names.sort();
        names
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        let get = async { self.objects.get(&self.path(name)).await?.bytes().await };
        self.runtime.block_on(get).unwrap().to_vec()
    }

    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        self.runtime.block_on(self.objects.put(&self.path(name), bytes.into())).unwrap();
    }

    pub(crate) fn delete(&self, name: &str) {
        self.runtime.block_on(self.objects.delete(&self.path(name))).unwrap();
    }
}

/// Returns the port of a local S3 server that all tests share, and that ends with this process. If a dependency is missing, prints a
/// message and returns `None`.
pub(crate) fn server() -> Option<u16> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref().map(|server| server.port)
}
