//! The items of a checkpoint: states that are saved together, each in its own folder.

use crate::error::{CheckpointError, Result};
use crate::index;
use crate::layout::orbax;
use crate::store::{Store, join};

/// Returns the names of the items of a checkpoint that contain arrays, in alphabetical order. The list is empty if the checkpoint is a
/// single state without items.
///
/// # Errors
/// The store fails (SH1301).
pub fn items(store: &Store, path: &str) -> Result<Vec<String>> {
    let path = path.trim_matches('/');
    if is_state(store, path)? {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    for name in store.folders(path)? {
        // In the folder of a checkpoint manager, subfolders are steps, not items.
        let is_other = name.ends_with(orbax::UNFINISHED) || step_of(&name).is_some();
        if !is_other && is_state(store, &join(path, &name))? {
            items.push(name);
        }
    }
    Ok(items)
}

/// Returns the folder of the requested state: that of the item `item`, or if `item` is `None`, the checkpoint's own folder, the item
/// `default`, or the only item. Returns `None` if there is no state with arrays.
pub(crate) fn folder(store: &Store, path: &str, item: Option<&str>) -> Result<Option<String>> {
    if let Some(item) = item {
        let folder = join(path, item);
        if !item.contains('/') && is_state(store, &folder)? {
            return Ok(Some(folder));
        }
        let items = items(store, path)?;
        return Err(CheckpointError::Item { path: store.shown(path), asked: Some(item.to_owned()), items });
    }
    for folder in [path.to_owned(), join(path, orbax::ITEM)] {
        if is_state(store, &folder)? {
            return Ok(Some(folder));
        }
    }
    match items(store, path)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(join(path, one))),
        several => {
            Err(CheckpointError::Item { path: store.shown(path), asked: None, items: several.to_vec() })
        }
    }
}

/// Returns whether a folder contains a state with arrays.
fn is_state(store: &Store, folder: &str) -> Result<bool> {
    for file in [index::FILE, orbax::TREE] {
        if store.size(&join(folder, file))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the step number of a folder whose name consists only of digits; `None` for other names.
pub(crate) fn step_of(name: &str) -> Option<u64> {
    let step: u64 = name.parse().ok()?;
    (step.to_string() == name).then_some(step)
}
