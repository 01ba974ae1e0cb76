//! Orbax's metadata files: the pytree of a state, and its shardings.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::entry::{Entry, Sharding};
use crate::tree::{Key, Leaf, Tree};

/// The file with the pytree and the names of its leaves.
pub(crate) const TREE: &str = "_METADATA";
/// The file with the shardings of the arrays.
pub(crate) const SHARDING: &str = "_sharding";
/// The file that marks a folder as a checkpoint, and names the Python class that reads it.
pub(crate) const CHECKPOINT: &str = "_CHECKPOINT_METADATA";
/// The file that marks a checkpoint in an object store as complete.
pub(crate) const COMMIT: &str = "commit_success.txt";
/// The suffix of a folder whose checkpoint is being written.
pub(crate) const UNFINISHED: &str = ".orbax-checkpoint-tmp";
/// The folder of the state within a step of a checkpoint manager.
pub(crate) const ITEM: &str = "default";
/// The file with the values of string leaves.
pub(crate) const STRINGS: &str = "_strings.json";
/// The only file of a checkpoint of Flax, or of old Orbax releases, which did not store arrays in separate files.
pub(crate) const MSGPACK: &str = "checkpoint";

/// Orbax's code for a key that is an index of a list or a tuple.
const SEQUENCE: u64 = 1;
/// Orbax's code for a key of a dictionary, or an attribute.
const DICTIONARY: u64 = 2;

/// Returns the pytree of entries: `known`, adapted to the names of the entries, or if it is `None`, the tree that these names imply.
pub(crate) fn tree(entries: &[Entry], known: Option<&Tree>) -> Tree {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    known.unwrap_or(&Tree::default()).for_names(&names)
}

/// Returns the content of the file [`TREE`].
pub(crate) fn metadata(tree: &Tree, entries: &[Entry]) -> Value {
    let blocks: BTreeMap<&str, &[usize]> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.block.as_slice())).collect();
    let mut leaves: Vec<&Leaf> = tree.leaves.iter().collect();
    // Orbax appends the elements of a list in the order of the leaves in the file, so leaves are sorted by index.
    leaves.sort_by(|a, b| a.keys.cmp(&b.keys));
    let mut all = Map::new();
    for leaf in leaves {
        let quoted: Vec<String> = leaf.keys.iter().map(|key| python_string(&key.to_string())).collect();
        let comma = if quoted.len() == 1 { "," } else { "" };
        let key = |key: &Key| {
            let key_type = if matches!(key, Key::Index(_)) { SEQUENCE } else { DICTIONARY };
            json!({ "key": key.to_string(), "key_type": key_type })
        };
        let mut value = json!({
            "value_type": leaf.kind,
            "skip_deserialize": !leaf.is_array() && leaf.kind != "string",
        });
        if let Some(block) = blocks.get(leaf.name().as_str()) {
            value["write_shape"] = json!(block);
        }
        let key_metadata: Vec<Value> = leaf.keys.iter().map(key).collect();
        let value = json!({ "key_metadata": key_metadata, "value_metadata": value });
        all.insert(format!("({}{comma})", quoted.join(", ")), value);
    }
    json!({
        "tree_metadata": all,
        "use_ocdbt": false,
        "use_zarr3": true,
        "store_array_data_equal_to_fill_value": true,
        "custom_metadata": null,
    })
}

/// Returns the content of the file [`STRINGS`]; `None` if the tree has no string leaves.
pub(crate) fn strings(tree: &Tree) -> Option<Value> {
    let texts = tree.leaves.iter().filter_map(|leaf| Some((leaf.name(), json!(leaf.text.as_ref()?))));
    let texts: Map<String, Value> = texts.collect();
    (!texts.is_empty()).then_some(Value::Object(texts))
}

/// Formats a string as Python's `repr` does.
fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let escaped = text.replace('\\', "\\\\");
    let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
    format!("{quote}{escaped}{quote}")
}

/// Reads the tree from [`TREE`] and the strings from [`STRINGS`]; `None` if the metadata is invalid.
pub(crate) fn read_tree(metadata: &Value, strings: &Value) -> Option<Tree> {
    let mut tree = Tree::default();
    for value in metadata["tree_metadata"].as_object()?.values() {
        let kind = value["value_metadata"]["value_type"].as_str()?.to_owned();
        let key = |key: &Value| {
            let text = match &key["key"] {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            match (key["key_type"].as_u64(), text.parse()) {
                (Some(SEQUENCE), Ok(index)) => Some(Key::Index(index)),
                _ => Some(Key::Name(text)),
            }
        };
        let keys: Option<Vec<Key>> = value["key_metadata"].as_array()?.iter().map(key).collect();
        let mut leaf = Leaf { keys: keys?, kind, text: None };
        if leaf.kind == "string" {
            leaf.text = strings[leaf.name()].as_str().map(str::to_owned);
        }
        tree.leaves.push(leaf);
    }
    Some(tree)
}

/// Returns the content of the file [`SHARDING`]; `None` if an entry has no sharding, because Orbax requires that the file lists all
/// entries.
pub(crate) fn shardings(entries: &[Entry]) -> Option<Value> {
    let mut all = Map::new();
    for entry in entries {
        let Sharding { mesh, spec } = entry.sharding.as_ref().filter(|s| !s.mesh.is_empty())?;
        let spec: Vec<Value> = spec
            .iter()
            .map(|axes| match axes.as_slice() {
                [] => Value::Null,
                [one] => json!(one),
                many => json!(many),
            })
            .collect();
        let sizes: Vec<usize> = mesh.iter().map(|(_, size)| *size).collect();
        let value = json!({
            "sharding_type": "NamedSharding",
            "shape": sizes,
            "axis_names": mesh.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "axis_types": vec!["AxisType.Auto"; mesh.len()],
            "partition_spec": spec,
            "device_mesh": { "mesh": devices(&sizes, 0) },
        });
        all.insert(base64(entry.name.as_bytes()), json!(value.to_string()));
    }
    Some(Value::Object(all))
}

/// Returns the sharding of an entry, where `all` is the content of the file [`SHARDING`]; `None` if the entry has no sharding.
pub(crate) fn sharding_of(all: &Value, name: &str) -> Option<Sharding> {
    let value: Value = serde_json::from_str(all[base64(name.as_bytes())].as_str()?).ok()?;
    let strings = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let sizes: Option<Vec<usize>> =
        value["shape"].as_array()?.iter().map(|n| usize::try_from(n.as_u64()?).ok()).collect();
    let mesh = strings(&value["axis_names"])?.into_iter().zip(sizes?).collect();
    let axes = |axes: &Value| match axes {
        Value::Null => Some(Vec::new()),
        Value::String(one) => Some(vec![one.clone()]),
        many => strings(many),
    };
    Some(Sharding {
        mesh,
        spec: value["partition_spec"].as_array()?.iter().map(axes).collect::<Option<_>>()?,
    })
}

/// Returns the ids of a mesh's devices as nested lists, with one nesting level per axis. `sizes` are the sizes of the axes, and `first` is
/// the lowest id.
fn devices(sizes: &[usize], first: usize) -> Value {
    match sizes.split_first() {
        None => json!({ "id": first }),
        Some((&size, rest)) => {
            let each: usize = rest.iter().product();
            Value::Array((0..size).map(|i| devices(rest, first + i * each)).collect())
        }
    }
}

/// Returns the content of the file [`CHECKPOINT`], for a step of a checkpoint manager or for a checkpoint without items.
pub(crate) fn checkpoint(is_step: bool) -> Value {
    /// The reader of checkpoints without items; a step names a reader for each of its items.
    const READER: &str = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    json!({
        "item_handlers": if is_step { json!({ ITEM: READER }) } else { json!(READER) },
        "metrics": {},
        "performance_metrics": {},
        "init_timestamp_nsecs": nanoseconds,
        "commit_timestamp_nsecs": nanoseconds,
        "custom_metadata": {},
    })
}

/// Encodes text in Base64 with padding and the URL-safe alphabet (RFC 4648, section 5): Orbax's encoding of the keys of [`SHARDING`].
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use shardc_ir::DType;

    use super::*;

    fn entry(name: &str) -> Entry {
        Entry::whole(name, DType::F32, &[4])
    }

    #[test]
    fn tree_round_trips() {
        let entries = [entry("opt.1.mu"), entry("step"), entry("it's")];
        let mut known = Tree::default();
        let keys = vec![Key::Name("name".to_owned())];
        known.leaves.push(Leaf { keys, kind: "string".to_owned(), text: Some("run".to_owned()) });
        let tree = tree(&entries, Some(&known));
        let metadata = metadata(&tree, &entries);
        let keys: Vec<&String> = metadata["tree_metadata"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["(\"it's\",)", "('name',)", "('opt', '0')", "('opt', '1', 'mu')", "('step',)"]);
        let list = &metadata["tree_metadata"]["('opt', '1', 'mu')"];
        assert_eq!(list["key_metadata"][1], json!({ "key": "1", "key_type": 1 }));
        assert_eq!(list["value_metadata"]["write_shape"], json!([4]));
        let strings = strings(&tree).unwrap();
        assert_eq!(strings, json!({ "name": "run" }));
        let mut read = read_tree(&metadata, &strings).unwrap();
        let mut tree = tree;
        for tree in [&mut read, &mut tree] {
            tree.leaves.sort_by(|a, b| a.keys.cmp(&b.keys));
        }
        assert_eq!(read, tree);
        assert_eq!(read_tree(&json!({}), &Value::Null), None);
    }

    #[test]
    fn shardings_round_trip() {
        let mesh = vec![("data".to_owned(), 2), ("model".to_owned(), 2)];
        let spec = vec![vec!["data".to_owned(), "model".to_owned()], vec![]];
        let sharding = Sharding { mesh, spec };
        let sharded = Entry { sharding: Some(sharding.clone()), ..entry("params.w") };
        assert_eq!(shardings(&[sharded.clone(), entry("step")]), None);
        let all = shardings(&[sharded]).unwrap();
        assert_eq!(all.as_object().unwrap().keys().collect::<Vec<_>>(), ["cGFyYW1zLnc="]);
        assert_eq!(sharding_of(&all, "params.w"), Some(sharding));
        assert_eq!(sharding_of(&all, "step"), None);
        let text = all["cGFyYW1zLnc="].as_str().unwrap();
        assert!(text.contains(r#""mesh":[[{"id":0},{"id":1}],[{"id":2},{"id":3}]]"#), "{text}");
    }

    #[test]
    fn base64_has_padding() {
        assert_eq!(
            ["", "s", "bo", "c++", "step", "ab~", "b?"].map(|t| base64(t.as_bytes())),
            ["", "cw==", "Ym8=", "Yysr", "c3RlcA==", "YWJ-", "Yj8="]
        );
    }
}
