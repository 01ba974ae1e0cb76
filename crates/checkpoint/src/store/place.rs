//! Opening stores by URL or path.

use std::path::{Component, Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;

use super::Store;
use crate::error::{CheckpointError, Result};

impl Store {
    /// Opens the store of a URL: `s3://bucket/folder`, `gs://...`, `az://...` (with the features `s3`, `gcs`, `azure`), `file:///folder`,
    /// `memory:`, or the path of a folder. `options` are further settings with the keys of `object_store`.
    ///
    /// # Errors
    /// The kind of store is not built in, or an option is unknown.
    pub fn open(url: &str, options: &[(String, String)]) -> Result<Store> {
        if url == "memory:" {
            return Store::memory();
        }
        match url.split_once("://") {
            None => Store::folder(FilePath::new(url)),
            Some(("file", path)) => Store::folder(FilePath::new(path)),
            Some((scheme, _)) => cloud(scheme, url, options),
        }
    }

    /// Creates a store in this process's memory.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn memory() -> Result<Store> {
        Store::new(Arc::new(InMemory::new()), "")
    }

    /// Opens a folder of a file system, which is created at the first write. A write returns when the data is durable.
    ///
    /// # Errors
    /// The folder's absolute path cannot be determined, or threads cannot be started.
    pub fn folder(folder: &FilePath) -> Result<Store> {
        let bad = |error: String| CheckpointError::Settings(format!("{}: {error}", folder.display()));
        let absolute = without_parents(&std::path::absolute(folder).map_err(|e| bad(e.to_string()))?);
        let root = Path::from_absolute_path(&absolute).map_err(|e| bad(e.to_string()))?;
        let store = Store::new(Arc::new(LocalFileSystem::new().with_fsync(true)), "")?;
        Ok(Store { root, folder: Some(absolute), ..store })
    }
}

/// Removes `..` from a path, which paths of object stores must not contain. Links are resolved first, because the parent of a link's target
/// differs from the link's parent.
fn without_parents(path: &FilePath) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            whole = std::fs::canonicalize(&whole).unwrap_or(whole);
            whole.pop();
        } else {
            whole.push(part);
        }
    }
    whole
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn cloud(scheme: &str, url: &str, options: &[(String, String)]) -> Result<Store> {
    let bad = |error: &dyn std::fmt::Display| CheckpointError::Settings(format!("{url}: {error}"));
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let root = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    let inner: Arc<dyn object_store::ObjectStore> = match scheme {
        #[cfg(feature = "s3")]
        "s3" | "s3a" => {
            let mut builder = object_store::aws::AmazonS3Builder::from_env().with_url(url);
            for (key, value) in options {
                builder = builder.with_config(key.parse().map_err(|e| bad(&e))?, value);
            }
            Arc::new(builder.build().map_err(|e| bad(&e))?)
        }
        #[cfg(feature = "gcs")]
        "gs" => {
            let mut builder = object_store::gcp::GoogleCloudStorageBuilder::from_env().with_url(url);
            for (key, value) in options {
                builder = builder.with_config(key.parse().map_err(|e| bad(&e))?, value);
            }
            Arc::new(builder.build().map_err(|e| bad(&e))?)
        }
        #[cfg(feature = "azure")]
        "az" | "azure" | "abfs" | "abfss" => {
            let mut builder = object_store::azure::MicrosoftAzureBuilder::from_env().with_url(url);
            for (key, value) in options {
                builder = builder.with_config(key.parse().map_err(|e| bad(&e))?, value);
            }
            Arc::new(builder.build().map_err(|e| bad(&e))?)
        }
        _ => return Err(unknown(scheme)),
    };
    Store::new(inner, root)
}

#[cfg(not(any(feature = "s3", feature = "gcs", feature = "azure")))]
fn cloud(scheme: &str, _url: &str, _options: &[(String, String)]) -> Result<Store> {
    Err(unknown(scheme))
}

fn unknown(scheme: &str) -> CheckpointError {
    CheckpointError::Settings(format!(
        "unsupported store {scheme}://: use a folder, or enable the feature s3, gcs or azure for that object store"
    ))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn kept(store: &Store) {
        store.put("a/b.c/d", Bytes::from_static(b"value")).unwrap();
        store.put("a/e", Bytes::from_static(b"x")).unwrap();
        assert_eq!(store.get("a/b.c/d").unwrap().unwrap(), "value");
        assert_eq!(store.get("a/none").unwrap(), None);
        assert_eq!(store.size("a/e").unwrap(), Some(1));
        assert_eq!(store.get_ranges("a/b.c/d", &[1..3, 4..5]).unwrap().unwrap(), ["al", "e"]);
        assert_eq!(store.list("a").unwrap(), [("b.c/d".to_owned(), 5), ("e".to_owned(), 1)]);
        assert_eq!(store.folders("a").unwrap(), ["b.c"]);
        assert_eq!(store.folders("").unwrap(), ["a"]);
        assert_eq!(store.folders("none").unwrap(), Vec::<String>::new());
        let part = |i: usize| Ok(Bytes::from(vec![i as u8; if i < 2 { 5 << 20 } else { 3 }]));
        store.put_parts("a/parts", 3, &part).unwrap();
        assert_eq!(store.size("a/parts").unwrap(), Some((10 << 20) + 3));
        let end = 10 << 20;
        let read = store.get_ranges("a/parts", std::slice::from_ref(&(end - 1..end + 1)));
        assert_eq!(read.unwrap().unwrap()[0][..], [1, 2]);
        store.delete("a/e").unwrap();
        store.delete("a/e").unwrap();
        store.delete_all("a").unwrap();
        store.delete_all("a").unwrap();
        assert_eq!(store.list("").unwrap(), vec![]);
    }

    #[test]
    fn memory_and_folders_keep_objects() {
        kept(&Store::memory().unwrap());
        let folder = tempfile::tempdir().unwrap();
        kept(&Store::folder(&folder.path().join("not there yet")).unwrap());
        let folder = tempfile::tempdir().unwrap();
        kept(&Store::open(&format!("file://{}", folder.path().display()), &[]).unwrap());
    }

    #[test]
    fn folder_paths_may_contain_parent_components() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let put = |path: &str| {
            let store = Store::folder(&folder.path().join(path)).unwrap();
            store.put("x", Bytes::from_static(b"1")).unwrap();
        };
        put("a/../c d");
        put("none/../e");
        assert!(folder.path().join("c d/x").is_file() && folder.path().join("e/x").is_file());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("a/b"), folder.path().join("link")).unwrap();
            put("link/../f");
            assert!(folder.path().join("a/f/x").is_file());
        }
    }

    #[test]
    fn a_store_that_is_not_built_in_is_named() {
        let error = Store::open("ftp://host/x", &[]).unwrap_err();
        assert!(error.code() == "SH1312" && error.to_string().contains("ftp"), "{error}");
    }

    #[test]
    fn calls_may_come_from_asynchronous_tasks() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Store::memory().unwrap();
            store.put("x", Bytes::from_static(b"1")).unwrap();
            assert_eq!(store.size("x").unwrap(), Some(1));
        });
    }

    #[test]
    fn write_failures_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = Store::folder(&folder.path().join("file")).unwrap().put("x", Bytes::new()).unwrap_err();
        assert!(error.code() == "SH1301" && error.to_string().contains("file/x"), "{error}");
    }
}
