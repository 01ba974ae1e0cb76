//! Errors of reading, consolidating and writing state dicts.

use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = StateDictError> = std::result::Result<T, E>;

/// The kind of an error; each has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read or written.
    Io,
    /// No file has this name or matches the pattern.
    NoFile,
    /// A file is not a safetensors file, is truncated, or its header is inconsistent.
    Safetensors,
    /// An index of several safetensors files is invalid, or names missing files or tensors.
    Index,
    /// The container of a `torch.save` file is invalid: not a zip archive, an old format, compressed or overlapping entries.
    Container,
    /// The pickle of a `torch.save` file is truncated, too large, too deep, or inconsistent.
    Pickle,
    /// The pickle contains more than plain data: a function call, an object of a class.
    NotData,
    /// A tensor exceeds its storage, or its shape is invalid.
    Tensor,
    /// The files of ranks do not form one checkpoint, or some are missing.
    Ranks,
    /// Shard metadata is missing, or does not describe the tensors.
    ShardMetadata,
    /// A slice is out of bounds.
    Slice,
    /// The output format does not support an element type.
    ElementType,
    /// The state dict lacks a tensor, has a duplicate tensor, or contains objects that are not tensors.
    Content,
}

impl ErrorKind {
    /// Returns the stable code: `SH1401`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::Io => "SH1401",
            ErrorKind::NoFile => "SH1402",
            ErrorKind::Safetensors => "SH1403",
            ErrorKind::Index => "SH1404",
            ErrorKind::Container => "SH1405",
            ErrorKind::Pickle => "SH1406",
            ErrorKind::NotData => "SH1407",
            ErrorKind::Tensor => "SH1408",
            ErrorKind::Ranks => "SH1409",
            ErrorKind::ShardMetadata => "SH1410",
            ErrorKind::Slice => "SH1411",
            ErrorKind::ElementType => "SH1412",
            ErrorKind::Content => "SH1413",
        }
    }
}

/// An error in a state dict, with its file, tensor and a hint.
#[derive(Debug, thiserror::Error)]
#[error("{}{}{reason}", file(.path.as_deref()), named(.tensor.as_deref()))]
pub struct StateDictError {
    kind: ErrorKind,
    path: Option<PathBuf>,
    tensor: Option<String>,
    reason: String,
    hint: Option<String>,
    #[source]
    source: Option<std::io::Error>,
}

fn file(path: Option<&Path>) -> String {
    let path = path.filter(|path| !path.as_os_str().is_empty());
    path.map(|path| format!("{}: ", path.display())).unwrap_or_default()
}

fn named(tensor: Option<&str>) -> String {
    tensor.map(|name| format!("tensor {name:?}: ")).unwrap_or_default()
}

impl StateDictError {
    pub(crate) fn new(kind: ErrorKind, reason: impl Into<String>) -> StateDictError {
        StateDictError { kind, path: None, tensor: None, reason: reason.into(), hint: None, source: None }
    }

    pub(crate) fn io(doing: &str, path: &Path, source: std::io::Error) -> StateDictError {
        let mut error = StateDictError::new(ErrorKind::Io, format!("cannot {doing}: {source}")).in_file(path);
        error.source = Some(source);
        error
    }

    /// Adds the file that the error is about, unless the error has a file.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> StateDictError {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the tensor that the error is about, unless the error has a tensor.
    #[must_use]
    pub(crate) fn of_tensor(mut self, name: &str) -> StateDictError {
        self.tensor.get_or_insert_with(|| name.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> StateDictError {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the stable code: `SH1401`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Returns the file that the error is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the name of the tensor that the error is about.
    #[must_use]
    pub fn tensor(&self) -> Option<&str> {
        self.tensor.as_deref()
    }

    /// Returns the hint on how to fix the error, if there is one.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_file_and_the_tensor() {
        let error = StateDictError::new(ErrorKind::Tensor, "it reaches beyond its storage")
            .of_tensor("w")
            .in_file(Path::new("a.pth"))
            .in_file(Path::new("b.pth"))
            .hint("save it again");
        assert_eq!(error.to_string(), "a.pth: tensor \"w\": it reaches beyond its storage");
        assert_eq!((error.code(), error.advice()), ("SH1408", Some("save it again")));
        assert_eq!((error.path(), error.tensor()), (Some(Path::new("a.pth")), Some("w")));
    }
}
