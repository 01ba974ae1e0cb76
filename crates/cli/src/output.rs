//! The output files of a command: all of them are written, or none.
//!
//! Each file is written under a temporary name in the same folder, and all are renamed at the end. So no process sees a partial file, a
//! failure leaves the old files unchanged, and a program and its manifest always come from the same command.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use shardc_runtime::scratch::{self, Scratch};
use tempfile::NamedTempFile;

use crate::failure::usage;

/// The outputs of one command. [`Outputs::commit`] moves them to their final paths.
#[derive(Default)]
pub(crate) struct Outputs {
    staged: Vec<Staged>,
}

enum Staged {
    /// The output is in a temporary file in the folder of the target.
    Beside { temporary: Scratch<NamedTempFile>, target: PathBuf },
    /// The output is written directly, because the target is not a regular file, or no file can be created in its folder.
    Direct { target: PathBuf, bytes: Vec<u8> },
    /// The standard output.
    Standard { bytes: Vec<u8> },
}

/// An option and its file.
pub(crate) type Named<'a> = (&'a str, &'a Path);

impl Outputs {
    /// Checks, before any work is done, that the files can be written and are distinct.
    ///
    /// Files are compared by identity, following links.
    ///
    /// # Errors
    /// An output is the same file as an input or another output (invalid usage), or a file cannot be written.
    pub(crate) fn plan(outputs: &[Named<'_>], inputs: &[Named<'_>]) -> Result<Outputs> {
        let places: Vec<Destination> = outputs.iter().map(|(_, path)| Destination::of(path)).collect();
        for (i, (place, (option, path))) in places.iter().zip(outputs).enumerate() {
            if let Some(j) = places[..i].iter().position(|other| place.is_same(other)) {
                let other = outputs[j].0;
                return Err(usage(if *place == Destination::Standard {
                    format!("{other} and {option} are both standard output: name a file for one of them")
                } else {
                    format!("{other} and {option} are the same file, {}", path.display())
                }));
            }
            let input = inputs.iter().find(|(_, input)| place.is_same(&Destination::of(input)));
            if let Some((what, _)) = input
                && *place != Destination::Standard
            {
                return Err(usage(format!(
                    "{option} {} would overwrite {what}: write to another file",
                    path.display()
                )));
            }
            place.check().with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Outputs::default())
    }

    /// Stages `bytes` as the content of `path`; `-` is standard output.
    pub(crate) fn put(&mut self, path: &Path, bytes: impl Into<Vec<u8>>) -> Result<()> {
        let staged = match Destination::of(path) {
            Destination::Standard => Staged::Standard { bytes: bytes.into() },
            Destination::Special(target) => Staged::Direct { target, bytes: bytes.into() },
            Destination::File { target, .. } => match beside(&target).and_then(|temporary| {
                let bytes = bytes.into();
                match temporary {
                    Some(temporary) => {
                        temporary.as_file().write_all(&bytes)?;
                        Ok(Staged::Beside { temporary, target })
                    }
                    None => Ok(Staged::Direct { target, bytes }),
                }
            }) {
                Ok(staged) => staged,
                Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
            },
        };
        self.staged.push(staged);
        Ok(())
    }

    /// Returns a temporary path for a file that another process writes. [`Outputs::commit`] renames the file to `path`.
    pub(crate) fn place(&mut self, path: &Path) -> Result<PathBuf> {
        if let Destination::File { target, .. } = Destination::of(path)
            && let Some(temporary) =
                beside(&target).with_context(|| format!("cannot write {}", path.display()))?
        {
            let place = temporary.path().to_owned();
            self.staged.push(Staged::Beside { temporary, target });
            return Ok(place);
        }
        Ok(path.to_owned())
    }

    /// Writes all outputs. Streams are written first: if a stream fails, no file is written.
    pub(crate) fn commit(self) -> Result<()> {
        for staged in &self.staged {
            match staged {
                Staged::Standard { bytes } => write_stdout(bytes)?,
                Staged::Direct { target, bytes } => File::create(target)
                    .and_then(|mut file| file.write_all(bytes))
                    .or_else(unless_closed)
                    .with_context(|| format!("cannot write {}", target.display()))?,
                Staged::Beside { .. } => {}
            }
        }
        let files: Vec<(&Path, &Path)> = self
            .staged
            .iter()
            .filter_map(|staged| match staged {
                Staged::Beside { temporary, target } => Some((temporary.path(), target.as_path())),
                Staged::Direct { .. } | Staged::Standard { .. } => None,
            })
            .collect();
        // Signals are blocked, so that either all files are renamed or none.
        let _undisturbed = scratch::undisturbed();
        rename_all(&files).map_err(|(target, error)| {
            anyhow::Error::from(error).context(format!("cannot write {}", target.display()))
        })
    }
}

/// Renames each file. If a rename fails, the previous renames are undone.
fn rename_all<'a>(files: &[(&Path, &'a Path)]) -> Result<(), (&'a Path, io::Error)> {
    let mut done: Vec<(&Path, Option<PathBuf>)> = Vec::new();
    let mut failed = None;
    for &(from, to) in files {
        // Keeps a hard link to the old file. On a file system without hard links, the rename cannot be undone.
        let old =
            Some(from.with_extension("old")).filter(|old| files.len() > 1 && fs::hard_link(to, old).is_ok());
        let existed = to.exists();
        if let Err(error) = keep_permissions(from, to).and_then(|()| fs::rename(from, to)) {
            old.map(fs::remove_file);
            failed = Some((to, error));
            break;
        }
        if old.is_some() || !existed {
            done.push((to, old));
        }
    }
    for (to, old) in done.into_iter().rev() {
        // Undoing is best effort: the first error is reported.
        let _ = match (&failed, old) {
            (None, Some(old)) => fs::remove_file(old),
            (None, None) => Ok(()),
            (Some(_), Some(old)) => fs::rename(old, to),
            (Some(_), None) => fs::remove_file(to),
        };
    }
    failed.map_or(Ok(()), Err)
}

/// Copies the permissions of the replaced file to the new file.
fn keep_permissions(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(to) {
        Ok(old) => fs::set_permissions(from, old.permissions()),
        Err(_) => Ok(()),
    }
}

/// Creates an empty file in the folder of `target`; `None` if only `target` itself can be written.
fn beside(target: &Path) -> io::Result<Option<Scratch<NamedTempFile>>> {
    let folder = folder_of(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".shardc-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of new files, to which the umask of the process is applied.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    match Scratch::new(|| builder.tempfile_in(folder)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && target.exists() => Ok(None),
        // The temporary name is an implementation detail, so the error does not contain it.
        made => made.map(Some).map_err(|error| error.kind().into()),
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Destination {
    /// Standard output: `-`.
    Standard,
    /// A pipe, a device, or a standard stream with a path, such as `/dev/stdout`.
    Special(PathBuf),
    /// A file that exists or can be created. Two files are the same if their identities or their paths are equal.
    File { target: PathBuf, identity: Option<(u64, u64)> },
}

impl Destination {
    fn of(path: &Path) -> Destination {
        if path == Path::new("-") {
            return Destination::Standard;
        }
        let is_stream = ["/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd", "/proc"];
        let metadata = fs::metadata(path);
        let is_file = metadata.as_ref().map_or(true, |m| m.is_file() || m.is_dir());
        if !is_file || is_stream.iter().any(|stream| path.starts_with(stream)) {
            return Destination::Special(path.to_owned());
        }
        let target = resolved(path);
        Destination::File { target, identity: metadata.ok().and_then(|m| identity(&m)) }
    }

    fn is_same(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::File { target: a, identity: x }, Destination::File { target: b, identity: y }) => {
                a == b || (x.is_some() && x == y)
            }
            (Destination::Standard, Destination::Standard) => true,
            _ => false,
        }
    }

    /// Checks that the destination can be written, as far as this is possible before writing.
    fn check(&self) -> io::Result<()> {
        let Destination::File { target, .. } = self else { return Ok(()) };
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if target.exists() {
            return OpenOptions::new().write(true).open(target).map(|_| ());
        }
        fs::metadata(folder_of(target)).map(|_| ())
    }
}

/// Resolves all symbolic links of the path, including the last component: a link is kept, and the file that it refers to is replaced.
fn resolved(path: &Path) -> PathBuf {
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(whole) = path.canonicalize() {
            return whole;
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => break,
        }
    }
    match (folder_of(&path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Writes to standard output. It is not an error if the reading process, such as `head`, closes the pipe.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .or_else(unless_closed)
        .context("cannot write to standard output")
}

fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_commit_restores_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("old"), "before").unwrap();
        let mut outputs = Outputs::default();
        for name in ["old", "new", "late"] {
            outputs.put(&path(name), "after").unwrap();
        }
        // Another program creates a folder at the target in the meantime.
        fs::create_dir(path("late")).unwrap();
        let error = outputs.commit().unwrap_err();
        assert!(format!("{error:#}").starts_with(&format!("cannot write {}", path("late").display())));
        assert_eq!(fs::read_to_string(path("old")).unwrap(), "before");
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["late", "old"]);
    }

    #[test]
    fn files_are_compared_by_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "").unwrap();
        fs::create_dir(path("d")).unwrap();
        let same = |a: &str, b: &str| Destination::of(&path(a)).is_same(&Destination::of(&path(b)));
        assert!(same("a", "./a") && same("a", "d/../a") && same("new", "d/../new"));
        assert!(!same("a", "b"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
            std::os::unix::fs::symlink(path("new"), path("dangling")).unwrap();
            fs::hard_link(path("a"), path("hard")).unwrap();
            assert!(same("a", "link") && same("a", "hard") && same("new", "dangling"));
        }
    }
}
