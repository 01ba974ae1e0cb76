//! The files that Orbax has beside arrays: what the tree of a state is, and how it was sharded.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::entry::{Entry, Sharding};

/// The tree of names.
pub(crate) const TREE: &str = "_METADATA";
/// How arrays were sharded.
pub(crate) const SHARDING: &str = "_sharding";
/// That this is a checkpoint, and who reads it.
pub(crate) const CHECKPOINT: &str = "_CHECKPOINT_METADATA";
/// That a checkpoint is whole.
pub(crate) const COMMIT: &str = "commit_success.txt";
/// What the name of a folder ends with whose checkpoint is being written.
pub(crate) const UNFINISHED: &str = ".orbax-checkpoint-tmp";
/// The folder of the state in a step of a manager.
pub(crate) const ITEM: &str = "default";
/// What tells that arrays are in a format of one file.
pub(crate) const OCDBT: &str = "manifest.ocdbt";

/// A key of a dictionary.
const DICTIONARY: u64 = 2;

/// The text of [`TREE`]. Dots of names separate the keys of nested dictionaries, unless an entry would be a dictionary, too:
/// then names are keys as they are.
pub(crate) fn tree(entries: &[Entry]) -> Value {
    let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let nested = names.iter().all(|name| {
        let mut parents = name.match_indices('.').map(|(at, _)| &name[..at]);
        !parents.any(|parent| names.contains(parent)) && !name.split('.').any(str::is_empty)
    });
    let mut tree = Map::new();
    for entry in entries {
        let keys: Vec<&str> = if nested { entry.name.split('.').collect() } else { vec![&entry.name] };
        let quoted: Vec<String> = keys.iter().map(|key| python_string(key)).collect();
        let comma = if keys.len() == 1 { "," } else { "" };
        let key_metadata: Vec<Value> =
            keys.iter().map(|key| json!({ "key": key, "key_type": DICTIONARY })).collect();
        let value = json!({
            "key_metadata": key_metadata,
            "value_metadata": {
                "value_type": "jax.Array",
                "skip_deserialize": false,
                "write_shape": entry.block,
            },
        });
        tree.insert(format!("({}{comma})", quoted.join(", ")), value);
    }
    json!({
        "tree_metadata": tree,
        "use_ocdbt": false,
        "use_zarr3": true,
        "store_array_data_equal_to_fill_value": true,
        "custom_metadata": null,
    })
}

/// The text as Python's `repr` writes it.
fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let escaped = text.replace('\\', "\\\\");
    let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
    format!("{quote}{escaped}{quote}")
}

/// The names of arrays that a [`TREE`] lists, in order, each its keys with dots between; `None` where it is not one.
pub(crate) fn names(tree: &Value) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for value in tree["tree_metadata"].as_object()?.values() {
        // Values of other kinds (strings, None, empty dictionaries) are no arrays.
        let kind = value["value_metadata"]["value_type"].as_str()?;
        if !matches!(kind, "jax.Array" | "np.ndarray" | "scalar") {
            continue;
        }
        let keys = value["key_metadata"].as_array()?;
        let keys: Option<Vec<String>> = keys
            .iter()
            .map(|key| match &key["key"] {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect();
        names.push(keys?.join("."));
    }
    Some(names)
}

/// The text of [`SHARDING`], where all entries say how they are sharded: Orbax wants all of them in the file, or no file.
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

/// How an entry was sharded by a [`SHARDING`], where it says so.
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

/// The ids of a mesh's devices, nested as its axes are, and the first id behind them.
fn devices(sizes: &[usize], first: usize) -> Value {
    match sizes.split_first() {
        None => json!({ "id": first }),
        Some((&size, rest)) => {
            let each: usize = rest.iter().product();
            Value::Array((0..size).map(|i| devices(rest, first + i * each)).collect())
        }
    }
}

/// The text of [`CHECKPOINT`].
pub(crate) fn checkpoint(is_step: bool) -> Value {
    /// The reader of checkpoints without items; a step names one for each of its items.
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

/// Base 64 with padding, of the alphabet for file names (RFC 4648, section 5): what Orbax finds the keys of [`SHARDING`] by.
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
    fn dots_are_nested_dictionaries_where_that_is_a_tree() {
        let nested = tree(&[entry("params.w"), entry("step")]);
        let keys: Vec<&String> = nested["tree_metadata"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["('params', 'w')", "('step',)"]);
        assert_eq!(names(&nested).unwrap(), ["params.w", "step"]);
        let flat = tree(&[entry("w"), entry("w.scale"), entry("it's")]);
        let keys: Vec<&String> = flat["tree_metadata"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["('w',)", "('w.scale',)", "(\"it's\",)"]);
        assert_eq!(names(&flat).unwrap(), ["w", "w.scale", "it's"]);
        assert_eq!(names(&json!({})), None);
    }

    #[test]
    fn shardings_come_back() {
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
