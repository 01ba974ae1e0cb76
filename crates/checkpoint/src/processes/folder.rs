//! Processes that communicate through a folder of a shared file system.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Calls, Processes};
use crate::error::{CheckpointError, Result};

/// The interval at which a process checks whether a file of another process exists.
const PAUSE: Duration = Duration::from_millis(2);

/// Processes that exchange files in a folder of a shared file system. Each job needs its own folder, which must be empty at the start.
#[derive(Clone, Debug)]
pub struct Folder {
    folder: PathBuf,
    index: usize,
    count: usize,
    patience: Duration,
    made: Arc<Calls>,
}

impl Folder {
    /// Creates the view of process `index` of `count`. The process waits at most `patience` for a value of another process.
    #[must_use]
    pub fn new(folder: PathBuf, index: usize, count: usize, patience: Duration) -> Folder {
        Folder { folder, index, count, patience, made: Arc::default() }
    }

    fn file(&self, name: &str, index: usize) -> PathBuf {
        // The name of a call may contain a path, so characters that are not permitted in file names are replaced.
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.folder.join(format!("{name}.{index}"))
    }
}

impl Processes for Folder {
    fn index(&self) -> usize {
        self.index
    }

    fn count(&self) -> usize {
        self.count
    }

    fn gather(&self, name: &str, value: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        let name = &self.made.next(name);
        let failed = |error: std::io::Error| {
            CheckpointError::Process(format!(
                "cannot exchange data with the other processes through files in {}: {error}",
                self.folder.display()
            ))
        };
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        // The file is renamed after it is written, so that other processes never see an incomplete file.
        let own = self.file(name, self.index);
        let unseen = own.with_extension(format!("{}.tmp", self.index));
        std::fs::write(&unseen, value).and_then(|()| std::fs::rename(&unseen, &own)).map_err(failed)?;
        let end = Instant::now() + self.patience;
        (0..self.count)
            .map(|index| {
                loop {
                    match std::fs::read(self.file(name, index)) {
                        Ok(value) => return Ok(value),
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(failed(error));
                        }
                        Err(_) if Instant::now() > end => {
                            let text = format!("timed out waiting for process {index} at {name:?}");
                            return Err(CheckpointError::Process(text));
                        }
                        Err(_) => std::thread::sleep(PAUSE),
                    }
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Threads, agree};
    use super::*;

    fn together(group: Vec<Box<dyn Processes>>) {
        let count = group.len();
        std::thread::scope(|scope| {
            for process in &group {
                scope.spawn(move || {
                    let all = process.gather("a/b", vec![process.index() as u8]).unwrap();
                    assert_eq!(all, (0..count as u8).map(|i| vec![i]).collect::<Vec<_>>());
                    assert!(process.any("any", process.index() == 1).unwrap());
                    // A second call with the same name does not read the values of the first call.
                    assert!(!process.any("any", false).unwrap());
                    let own = match process.index() {
                        1 => Err(CheckpointError::Settings("no".to_owned())),
                        _ => Ok(vec![7]),
                    };
                    let error = agree(&**process, "agree", own).unwrap_err();
                    let expected = if process.index() == 1 { "no" } else { "process 1 failed: no" };
                    assert_eq!(error.to_string(), expected);
                });
            }
        });
    }

    #[test]
    fn all_processes_receive_all_values() {
        let patience = Duration::from_secs(30);
        let threads = Threads::group(3, patience).into_iter().map(|t| Box::new(t) as Box<dyn Processes>);
        together(threads.collect());
        let dir = tempfile::tempdir().unwrap();
        let folder = |i| Box::new(Folder::new(dir.path().join("meet"), i, 3, patience)) as Box<dyn Processes>;
        together((0..3).map(folder).collect());
    }

    #[test]
    fn missing_process_is_named() {
        let short = Duration::from_millis(5);
        let error = Threads::group(2, short)[0].barrier("x").unwrap_err();
        assert_eq!(error.to_string(), "timed out waiting for process 1 at \"x 1\"");
        let dir = tempfile::tempdir().unwrap();
        let error = Folder::new(dir.path().to_owned(), 0, 2, short).barrier("x").unwrap_err();
        assert_eq!(error.to_string(), "timed out waiting for process 1 at \"x 1\"");
    }
}
