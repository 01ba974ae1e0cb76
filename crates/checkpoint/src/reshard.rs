//! Writes the arrays of a checkpoint as a new checkpoint with different shardings.

use crate::checkpoint::Checkpoint;
use crate::entry::{Entry, Slice};
use crate::error::{CheckpointError, Result};
use crate::index::Info;
use crate::processes::Processes;
use crate::region::Region;
use crate::restore::{Fit, Wanted};
use crate::save::{Progress, Saved, State, save};
use crate::store::Store;

impl Checkpoint {
    /// Reads a region of an array; returns its elements, row-major.
    ///
    /// # Errors
    /// The errors of [`Checkpoint::restore`].
    pub fn read(&self, name: &str, region: &Region) -> Result<Vec<u8>> {
        let Some(entry) = self.entries().find(|entry| entry.name == name) else {
            let missing = vec![name.to_owned()];
            return Err(CheckpointError::Mismatch(crate::error::Mismatch { missing, ..Default::default() }));
        };
        let want = Wanted {
            name: name.to_owned(),
            dtype: entry.dtype,
            shape: entry.shape.clone(),
            regions: vec![region.clone()],
        };
        let mut elements = Vec::new();
        let mut take = |_, _, read: &mut Vec<u8>| {
            elements = std::mem::take(read);
            Ok(())
        };
        self.restore(&[want], &Fit::partial(), &mut take, None)?;
        Ok(elements)
    }
}

/// A source of named arrays whose regions can be read: a checkpoint, or data of the caller.
pub trait Source: Sync {
    /// Returns the arrays, in order.
    fn arrays(&self) -> Vec<Entry>;

    /// Returns the metadata to save with the arrays; empty by default.
    fn about(&self) -> Info {
        Info::default()
    }

    /// Reads a region of an array; returns its elements, row-major.
    ///
    /// # Errors
    /// There is no such array, or it cannot be read.
    fn region(&self, name: &str, region: &Region) -> Result<Vec<u8>>;
}

impl Source for Checkpoint {
    fn arrays(&self) -> Vec<Entry> {
        self.entries().cloned().collect()
    }

    fn about(&self) -> Info {
        Info { tree: self.tree().cloned(), ..self.info().clone() }
    }

    fn region(&self, name: &str, region: &Region) -> Result<Vec<u8>> {
        self.read(name, region)
    }
}

/// Writes arrays of `from` as a checkpoint at `path`. `entries` selects the arrays, and gives their new blocks and shardings. The blocks
/// are divided among all processes. The metadata is that of `from`.
///
/// # Errors
/// The errors of [`save`](crate::save()) and [`Checkpoint::restore`].
pub fn reshard(
    from: &dyn Source,
    entries: Vec<Entry>,
    store: &Store,
    path: &str,
    processes: &dyn Processes,
    progress: Option<&Progress<'_>>,
) -> Result<Saved> {
    let all = entries.iter().enumerate().flat_map(|(number, entry)| {
        entry.blocks().into_iter().map(move |region| Slice { entry: number, region })
    });
    let own = all.enumerate().filter(|(i, _)| i % processes.count() == processes.index());
    let slices = own.map(|(_, slice)| slice).collect();
    let state = State { slices, entries, info: from.about() };
    let read =
        |entry: &Entry, region: &Region| from.region(&entry.name, region).map_err(|error| error.to_string());
    save(store, path, &state, &read, processes, progress)
}
