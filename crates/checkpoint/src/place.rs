//! Where a checkpoint lies in a store, and what makes it count.
//!
//! In a folder of a file system a checkpoint is written to a folder beside its own, whose name ends in
//! `.orbax-checkpoint-tmp`, and renamed when it is whole: Orbax's rule, so that neither it nor shardc takes a half for a whole.
//! Object stores rename nothing; there the file `commit_success.txt` is written last, and deleted first.

use bytes::Bytes;

use crate::error::{CheckpointError, Result};
use crate::items::{self, step_of};
use crate::layout::orbax;
use crate::store::{Store, join};

/// What a checkpoint that is being deleted ends with.
const DELETED: &str = ".deleted.orbax-checkpoint-tmp";

/// Where a checkpoint is written.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: String,
    /// The folder of the state within it; empty where that is itself.
    item: &'static str,
    /// Whether the folder is renamed in the end.
    renames: bool,
}

impl Place {
    /// The checkpoint is the folder itself.
    pub(crate) fn plain(path: &str) -> Place {
        Place { path: path.trim_matches('/').to_owned(), item: "", renames: false }
    }

    /// A step of a manager, as Orbax's has them.
    pub(crate) fn step(path: &str, step: u64) -> Place {
        Place { path: join(path, &step.to_string()), item: orbax::ITEM, renames: false }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path of a file of the state, while it is written.
    pub(crate) fn file(&self, name: &str) -> String {
        let suffix = if self.renames { orbax::UNFINISHED } else { "" };
        let item = if self.item.is_empty() { String::new() } else { format!("/{}", self.item) };
        format!("{}{suffix}{item}/{name}", self.path)
    }

    /// A place as this store has it.
    pub(crate) fn in_store(self, store: &Store) -> Result<Place> {
        if self.path.is_empty() {
            return Err(CheckpointError::Settings("a checkpoint needs a name within its store".to_owned()));
        }
        Ok(Place { renames: store.is_folder(), ..self })
    }

    /// Makes room: nothing of a save that was interrupted is left.
    pub(crate) fn begin(&self, store: &Store) -> Result<()> {
        if is_whole(store, &self.path)? {
            return Err(CheckpointError::Exists { path: store.shown(&self.path) });
        }
        self.abandon(store)
    }

    /// Deletes what is there of a checkpoint that does not count.
    pub(crate) fn abandon(&self, store: &Store) -> Result<()> {
        if is_whole(store, &self.path)? {
            return Ok(());
        }
        let unfinished = format!("{}{}", self.path, orbax::UNFINISHED);
        store.delete_all(if self.renames { &unfinished } else { &self.path })
    }

    /// Makes the checkpoint count.
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

/// Whether there is a whole checkpoint at a path, of shardc or of Orbax.
pub(crate) fn is_whole(store: &Store, path: &str) -> Result<bool> {
    if path.ends_with(orbax::UNFINISHED) {
        return Ok(false);
    }
    if store.size(&join(path, orbax::COMMIT))?.is_some() {
        return Ok(true);
    }
    // Releases of Orbax that write no such file rename on file systems, and nowhere else.
    if !store.is_folder() {
        return Ok(false);
    }
    if store.size(&join(path, orbax::TREE))?.is_some() {
        return Ok(true);
    }
    // A folder of steps has folders of states below its own.
    Ok(!items::items(store, path)?.is_empty())
}

/// Deletes a checkpoint. Where that is interrupted, it does not count any more.
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

/// The steps of a folder that are whole, in order.
///
/// # Errors
/// The store refuses (SH1301).
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

/// Deletes what interrupted saves and deletions left behind in a folder of steps.
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
