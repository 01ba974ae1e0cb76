//! Progress of an installation.

/// An event that reports the progress of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallProgress {
    /// The plugin was already installed.
    AlreadyInstalled,
    /// The sizes are known; reported before the download starts.
    Size {
        /// Total size of all files in bytes.
        download: u64,
        /// The free bytes in the file system of the cache, if the system reports them.
        free: Option<u64>,
    },
    /// Looking up a file on the package index.
    Looking {
        /// The URL of the index page.
        url: String,
    },
    /// Downloading a file; reported repeatedly.
    Downloading {
        /// The name of the file.
        file: String,
        /// The bytes of the file that were received so far.
        received: u64,
        /// The size of the file in bytes, if the server reports it.
        total: Option<u64>,
    },
    /// Extracting the plugin from its wheel.
    Unpacking,
    /// The plugin is installed.
    Installed,
}
