//! Opens checkpoints of Orbax.

use serde_json::Value;

use crate::entry::Entry;
use crate::error::{CheckpointError, Damage, Result};
use crate::layout::array::StoredArray;
use crate::layout::{orbax, zarr2};
use crate::objects::Objects;
use crate::ocdbt;
use crate::store::{Store, join};
use crate::tree::{Leaf, Tree};

/// A checkpoint of Orbax.
pub(crate) struct Foreign {
    pub(crate) arrays: Vec<(Entry, StoredArray)>,
    pub(crate) tree: Tree,
    pub(crate) objects: Objects,
}

/// Opens the state that Orbax saved in a folder: in an OCDBT database or in separate files, as Zarr v2 or v3.
pub(crate) fn open(store: &Store, path: &str) -> Result<Foreign> {
    let shown = store.shown(path);
    let json = |file: &str| -> Result<Value> {
        let Some(text) = store.get(&join(path, file))? else { return Ok(Value::Null) };
        serde_json::from_slice(&text).map_err(|error| CheckpointError::Metadata {
            path: format!("{shown}/{file}"),
            reason: match error.is_eof() {
                true => "it is truncated".to_owned(),
                false => error.to_string(),
            },
        })
    };
    let metadata = json(orbax::TREE)?;
    let tree = orbax::read_tree(&metadata, &json(orbax::STRINGS)?);
    let tree = tree.ok_or_else(|| CheckpointError::Metadata {
        path: format!("{shown}/{}", orbax::TREE),
        reason: "it does not contain a tree of arrays".to_owned(),
    })?;
    let values = match ocdbt::is_in(store, path)? {
        true => Some(ocdbt::read(store, path)?),
        false if metadata["use_ocdbt"] == true => {
            return Err(damaged("", ocdbt::MANIFEST, "is missing"));
        }
        false => None,
    };
    // Releases of Orbax that do not write `store_array_data_equal_to_fill_value` omit the files of blocks that contain only the fill
    // value.
    let absent_is_fill = metadata["store_array_data_equal_to_fill_value"] != true;
    let objects = Objects::new(values, absent_is_fill);
    let shardings = json(orbax::SHARDING).unwrap_or(Value::Null);
    let mut arrays = Vec::new();
    for leaf in &tree.leaves {
        let name = leaf.name();
        let Some(array) = array(store, path, &objects, leaf)? else { continue };
        let entry = Entry {
            dtype: array.dtype,
            shape: array.shape.clone(),
            block: array.block.clone(),
            sharding: orbax::sharding_of(&shardings, &name),
            name,
        };
        arrays.push((entry, array));
    }
    Ok(Foreign { arrays, tree, objects })
}

/// Reads the metadata of the array at a leaf of the tree; `None` if the leaf is not an array.
fn array(store: &Store, path: &str, objects: &Objects, leaf: &Leaf) -> Result<Option<StoredArray>> {
    /// Types of leaves that have no files: their values are in the tree.
    const NODES: [&str; 6] = ["None", "Dict", "List", "Tuple", "NamedTuple", "string"];
    if NODES.contains(&leaf.kind.as_str()) {
        return Ok(None);
    }
    let name = leaf.name();
    for file in ["zarr.json", zarr2::METADATA] {
        let object = format!("{name}/{file}");
        let Some(text) = objects.get(store, path, &object)? else { continue };
        let value: Value = serde_json::from_slice(&text)
            .map_err(|error| CheckpointError::Metadata { path: object.clone(), reason: error.to_string() })?;
        let value = if file == zarr2::METADATA { zarr2::to_v3(&value) } else { Ok(value) };
        let array = value.and_then(StoredArray::read);
        let unsupported = |what: String| CheckpointError::Unsupported {
            path: store.shown(path),
            what: format!("{name}: {what}"),
        };
        return array.map(Some).map_err(unsupported);
    }
    match leaf.is_array() {
        true => {
            Err(damaged(&name, &format!("{name}/{}", zarr2::METADATA), "is missing, and so is zarr.json"))
        }
        false => {
            let what = format!("{name}: leaves of type {} are not supported", leaf.kind);
            Err(CheckpointError::Unsupported { path: store.shown(path), what })
        }
    }
}

fn damaged(entry: &str, object: &str, what: &str) -> CheckpointError {
    CheckpointError::Damaged(vec![Damage {
        entry: entry.to_owned(),
        object: object.to_owned(),
        what: what.to_owned(),
    }])
}
