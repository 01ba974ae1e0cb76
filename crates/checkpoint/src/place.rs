//! The paths of a checkpoint in a store, and its commit.
//!
//! In a file system, a checkpoint is written to a folder next to its own, with the suffix `.orbax-checkpoint-tmp`, and renamed when it is
//! complete. Orbax does the same, so neither Orbax nor shardc considers an incomplete checkpoint complete. Object stores cannot rename;
//! there, the file `commit_success.txt` is written last, and deleted first.

use bytes::Bytes;

use crate::error::{CheckpointError, Result};
use crate::items::{self, step_of};
use crate::layout::orbax;
use crate::store::{Store, join};

/// The suffix of the folder of a checkpoint that is being deleted.
const DELETED: &str = ".deleted.orbax-checkpoint-tmp";

/// The location at which a checkpoint is written.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: String,
    /// The subfolder of the checkpoint that contains the state; empty if the checkpoint has no items.
    item: &'static str,
    /// Whether the checkpoint is committed by renaming its folder (file systems), not by a marker file (object stores).
    renames: bool,
}

impl Place {
    /// Creates the location of a checkpoint without items, in the folder `path`.
    pub(crate) fn plain(path: &str) -> Place {
        Place { path: path.trim_matches('/').to_owned(), item: "", renames: false }
    }

    /// Creates the location of a step of a checkpoint manager, in Orbax's layout: `PATH/STEP/default`.
    pub(crate) fn step(path: &str, step: u64) -> Place {
        Place { path: join(path, &step.to_string()), item: orbax::ITEM, renames: false }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path at which a file of the state is written before the commit.
    pub(crate) fn file(&self, name: &str) -> String {
        let suffix = if self.renames { orbax::UNFINISHED } else { "" };
        let item = if self.item.is_empty() { String::new() } else { format!("/{}", self.item) };
        format!("{}{suffix}{item}/{name}", self.path)
    }

    /// Determines how the checkpoint is committed: by a rename in a folder of a file system, by a marker file in other stores. Returns an
    /// error if the path is empty.
    pub(crate) fn in_store(self, store: &Store) -> Result<Place> {
        if self.path.is_empty() {
            return Err(CheckpointError::Settings("a checkpoint needs a name within its store".to_owned()));
        }
        Ok(Place { renames: store.is_folder(), ..self })
    }

    /// Deletes files left by an interrupted save to this location. Returns an error if a complete checkpoint exists there.
    pub(crate) fn begin(&self, store: &Store) -> Result<()> {
        if is_whole(store, &self.path)? {
            return Err(CheckpointError::Exists { path: store.shown(&self.path) });
        }
        self.abandon(store)
    }

    /// Deletes the files of a failed save to this location. Does nothing if the checkpoint is complete.
    pub(crate) fn abandon(&self, store: &Store) -> Result<()> {
        if is_whole(store, &self.path)? {
            return Ok(());
        }
        let unfinished = format!("{}{}", self.path, orbax::UNFINISHED);
        store.delete_all(if self.renames { &unfinished } else { &self.path })
    }

    /// Commits the checkpoint: from now on it counts as complete.
    pub(crate) fn commit(&self, store: &Store) -> Result<()> {
        let top =
            if self.renames { format!("{}{}", self.path, orbax::UNFINISHED) } else { self.path.clone() };
        let done = || Bytes::from(format!("Checkpoint commit was successful to {}", self.path));
        if !self.item.is_empty() {
            store.put(
                &format!("{top}/{}", orbax::CHECKPOINT),
                Bytes::from(orbax::checkpoint(true).to_string()),
            )?;
            store.put(&format!("{top}/{}/{}", self.item, orbax::COMMIT), done())?;
        }
        store.put(&format!("{top}/{}", orbax::COMMIT), done())?;
        if !self.renames {
            return Ok(());
        }
        store.sync_folders(&top)?;
        store.rename_folder(&top, &self.path)
    }
}

/// Returns whether there is a complete checkpoint of shardc or Orbax at a path.
pub(crate) fn is_whole(store: &Store, path: &str) -> Result<bool> {
    if path.ends_with(orbax::UNFINISHED) {
        return Ok(false);
    }
    if store.size(&join(path, orbax::COMMIT))?.is_some() {
        return Ok(true);
    }
    // Older releases of Orbax do not write `commit_success.txt`. Their checkpoints are supported only on file systems, where a
    // checkpoint under its final name is complete.
    if !store.is_folder() {
        return Ok(false);
    }
    if store.size(&join(path, orbax::TREE))?.is_some() {
        return Ok(true);
    }
    // In a folder of steps, no item is found, because the states are one level deeper than items.
    Ok(!items::items(store, path)?.is_empty())
}

/// Deletes a checkpoint. If the deletion is interrupted, the checkpoint no longer counts as complete.
pub(crate) fn delete(store: &Store, path: &str) -> Result<()> {
    if store.is_folder() {
        let gone = format!("{path}{DELETED}");
        store.delete_all(&gone)?;
        store.rename_folder(path, &gone)?;
        return store.delete_all(&gone);
    }
    store.delete(&format!("{path}/{}", orbax::COMMIT))?;
    store.delete_all(path)
}

/// Returns the numbers of the complete steps in a folder, in ascending order.
///
/// # Errors
/// The store fails (SH1301).
pub fn steps(store: &Store, path: &str) -> Result<Vec<u64>> {
    let mut steps = Vec::new();
    for name in store.folders(path)? {
        let Some(step) = step_of(&name) else { continue };
        let below = join(path, &name);
        if is_whole(store, &below)? {
            steps.push(step);
        }
    }
    steps.sort_unstable();
    Ok(steps)
}

/// Deletes files left by interrupted saves and deletions in a folder of steps.
pub(crate) fn clean(store: &Store, path: &str) -> Result<()> {
    for name in store.folders(path)? {
        let below = join(path, &name);
        let stem = name.strip_suffix(DELETED).or_else(|| name.strip_suffix(orbax::UNFINISHED));
        let is_left_over = match stem {
            Some(stem) => step_of(stem).is_some(),
            None => step_of(&name).is_some() && !store.is_folder() && !is_whole(store, &below)?,
        };
        if is_left_over {
            store.delete_all(&below)?;
        }
    }
    Ok(())
}
