//! Progress of an installation.

/// Progress of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallProgress {
    /// The plugin was already installed.
    AlreadyInstalled,
    /// The sizes, before the download.
    Size {
        /// Total size of all files in bytes.
        download: u64,
        /// Free bytes in the target's file system, if the system reports them.
        free: Option<u64>,
    },
    /// Looking up the file on the index.
    Looking {
        /// The index page.
        url: String,
    },
    /// Downloading the file; reported repeatedly.
    Downloading {
        /// The file.
        file: String,
        /// Bytes received so far.
        received: u64,
        /// Total bytes, if the server reports them.
        total: Option<u64>,
    },
    /// Extracting the plugin from the file.
    Unpacking,
    /// The plugin is installed.
    Installed,
}
