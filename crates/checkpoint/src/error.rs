//! Errors of writing and reading checkpoints.

use std::fmt::Write as _;

/// The result type of this crate.
pub type Result<T, E = CheckpointError> = std::result::Result<T, E>;

/// An error of writing or reading a checkpoint. `Display` is the message; [`CheckpointError::code`] and [`CheckpointError::hint`] are for
/// diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A request to the store failed, and so did its retries.
    #[error("{action} {path}: {reason}")]
    Store {
        /// The operation: `writing`, `reading`, `listing`, `deleting`, `renaming`.
        action: &'static str,
        /// The object or folder.
        path: String,
        /// The store's message.
        reason: String,
    },
    /// The names, shapes or block shapes of some entries are invalid; one message for each invalid entry.
    #[error("the state cannot be saved: {}", .0.join("; "))]
    Entries(Vec<String>),
    /// The slices of all processes together do not cover the entries: each block must be in exactly one slice. One message for each invalid
    /// entry.
    #[error("the slices of all processes do not match the state: {}", .0.join("; "))]
    Slices(Vec<String>),
    /// The callback that reads a slice, or the callback that receives a region, returned an error.
    #[error("{entry}: {reason}")]
    Values {
        /// The name of the entry, and the region if known.
        entry: String,
        /// The cause.
        reason: String,
    },
    /// There is no complete checkpoint at this path.
    #[error("there is no checkpoint at {path}{}", listed(.there))]
    NotFound {
        /// The path.
        path: String,
        /// The steps that exist at this path.
        there: Vec<u64>,
    },
    /// A checkpoint has several items and the caller requested none, or the requested item does not exist.
    #[error("{}", item_text(.path, .asked.as_deref(), .items))]
    Item {
        /// The path of the checkpoint.
        path: String,
        /// The requested item.
        asked: Option<String>,
        /// The existing items.
        items: Vec<String>,
    },
    /// A checkpoint already exists.
    #[error("a checkpoint already exists at {path}")]
    Exists {
        /// The path.
        path: String,
    },
    /// A metadata file is invalid.
    #[error("cannot read {path}: {reason}")]
    Metadata {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// Data is missing or corrupted. The list contains all damage that was found.
    #[error("the checkpoint is damaged: {}", lines(.0))]
    Damaged(Vec<Damage>),
    /// The arrays of the checkpoint do not match the requested arrays. All mismatches are listed.
    #[error("the checkpoint does not match the request: {0}")]
    Mismatch(Mismatch),
    /// Another process failed, or does not answer.
    #[error("{0}")]
    Process(String),
    /// The format of the checkpoint, or a property of it, is not supported.
    #[error("{path}: {what}")]
    Unsupported {
        /// The checkpoint or one of its files.
        path: String,
        /// The unsupported property.
        what: String,
    },
    /// An invalid path or option.
    #[error("{0}")]
    Settings(String),
    /// A background save failed.
    #[error("the background save of step {step} failed: {error}")]
    Background {
        /// The step.
        step: u64,
        /// The cause.
        error: Box<CheckpointError>,
    },
}

/// A damaged object of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Damage {
    /// The name of the entry; empty if the object is a metadata file of the checkpoint.
    pub entry: String,
    /// The object's path within the checkpoint.
    pub object: String,
    /// A description of the damage.
    pub what: String,
}

/// The differences between the arrays of a checkpoint and the requested arrays. Names are those in the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Requested entries that do not exist.
    pub missing: Vec<String>,
    /// Entries that were not requested.
    pub unexpected: Vec<String>,
    /// Entries whose type or shape differs from the requested one, each as text with both types.
    pub misshaped: Vec<String>,
}

impl Mismatch {
    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.misshaped.is_empty()
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kinds =
            [("missing", &self.missing), ("unexpected", &self.unexpected), ("misshaped", &self.misshaped)];
        let mut separator = "";
        for (kind, list) in kinds.into_iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, "{separator}{kind}: {}", list.join(", "))?;
            separator = "; ";
        }
        Ok(())
    }
}

impl CheckpointError {
    /// Returns the stable code of the error, such as `SH1301`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            CheckpointError::Store { .. } => "SH1301",
            CheckpointError::Entries(_) => "SH1302",
            CheckpointError::Slices(_) => "SH1303",
            CheckpointError::Values { .. } => "SH1304",
            CheckpointError::NotFound { .. } => "SH1305",
            CheckpointError::Exists { .. } => "SH1306",
            CheckpointError::Metadata { .. } => "SH1307",
            CheckpointError::Damaged(_) => "SH1308",
            CheckpointError::Mismatch(_) => "SH1309",
            CheckpointError::Process(_) => "SH1310",
            CheckpointError::Unsupported { .. } => "SH1311",
            CheckpointError::Settings(_) => "SH1312",
            CheckpointError::Background { .. } => "SH1313",
            CheckpointError::Item { .. } => "SH1314",
        }
    }

    /// Returns the action that the user can take to fix the problem.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            CheckpointError::Store { .. } => {
                "existing checkpoints are unchanged; fix the storage error and save again"
            }
            CheckpointError::Entries(_) => {
                "names must be unique paths without empty components, `.` or `..`; a block must have at least \
                 one element in each dimension"
            }
            CheckpointError::Slices(_) => {
                "each process must save blocks of the entry's grid, and each block exactly once"
            }
            CheckpointError::Values { .. } | CheckpointError::Settings(_) => return None,
            CheckpointError::NotFound { .. } => {
                "an interrupted save is not a checkpoint; list the existing checkpoints"
            }
            CheckpointError::Item { .. } => "specify one of the items, or open the folder of an item",
            CheckpointError::Exists { .. } => "delete it first, or save to another path",
            CheckpointError::Metadata { .. } | CheckpointError::Damaged(_) => {
                "restore an earlier step: each step is a complete checkpoint"
            }
            CheckpointError::Mismatch(_) => "map the names that differ, or restore only some of the entries",
            CheckpointError::Process(_) => "check the error of that process; nothing was committed",
            CheckpointError::Unsupported { .. } => {
                "save it again with Orbax's default format (OCDBT, Zarr with zstd)"
            }
            CheckpointError::Background { error, .. } => return error.hint(),
        })
    }
}

fn lines(damages: &[Damage]) -> String {
    /// The maximum number of objects that a message lists.
    const SHOWN: usize = 8;
    let mut text = String::new();
    for (i, Damage { entry, object, what }) in damages.iter().take(SHOWN).enumerate() {
        let separator = if i > 0 { "; " } else { "" };
        let entry = if entry.is_empty() { String::new() } else { format!("{entry}: ") };
        let _ = write!(text, "{separator}{entry}{object} {what}");
    }
    if damages.len() > SHOWN {
        let _ = write!(text, "; and {} more", damages.len() - SHOWN);
    }
    text
}

fn listed(steps: &[u64]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let steps: Vec<String> = steps.iter().map(u64::to_string).collect();
    format!("; there are steps {}", steps.join(", "))
}

fn item_text(path: &str, asked: Option<&str>, items: &[String]) -> String {
    let list = items.join(", ");
    match (asked, items.is_empty()) {
        (Some(asked), true) => format!("{path} has no item {asked}: it is a single state"),
        (Some(asked), false) => format!("{path} has no item {asked}; its items are {list}"),
        (None, _) => format!("{path} has several items: {list}"),
    }
}
