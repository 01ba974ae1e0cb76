//! Why a state dict cannot be read, put together or written.

use std::path::{Path, PathBuf};

/// Shorthand for a result of this crate.
pub type Result<T, E = StateDictError> = std::result::Result<T, E>;

/// What kind of thing is wrong; each kind has a stable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read or written.
    Io,
    /// No file has the name or matches the pattern.
    NoFile,
    /// A file is no safetensors file, is cut off, or its header contradicts itself.
    Safetensors,
    /// An index of several safetensors files is wrong, or names what is not there.
    Index,
    /// The container of a `torch.save` file is wrong: no zip archive, an old format, compressed or overlapping entries.
    Container,
    /// The pickle of a `torch.save` file is cut off, too large or too deep, or contradicts itself.
    Pickle,
    /// The pickle wants something that is no plain data: running a function, an object of a class.
    NotData,
    /// A tensor reaches beyond its storage, or its shape is impossible.
    Tensor,
    /// Files of ranks do not belong together, or some are missing.
    Ranks,
    /// Shard metadata is missing, or does not describe the tensors.
    ShardMetadata,
    /// A slice reaches beyond its tensor.
    Slice,
    /// The format that is to be written has no place for an element type.
    ElementType,
    /// The state dict lacks a tensor, has it twice, or holds something that is no tensor.
    Content,
}

impl ErrorKind {
    /// The stable code: `SH1401`.
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

/// What is wrong with a state dict, in which file and with which tensor, and what to do.
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

    /// The error with the file that it is about, unless it names one already.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> StateDictError {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// The error with the tensor that it is about, unless it names one already.
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

    /// What kind of thing is wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable code: `SH1401`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The file that the error is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The name of the tensor that the error is about.
    #[must_use]
    pub fn tensor(&self) -> Option<&str> {
        self.tensor.as_deref()
    }

    /// What to do about it, where that is known.
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
