//! `shardc checkpoint` on checkpoints of Orbax and torch.distributed.checkpoint, and on state dicts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use crate::common::Folder;
use serde_json::{Value, json};

/// A path in the test data of another crate.
fn data(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path).to_str().unwrap().to_owned()
}

fn orbax(name: &str) -> String {
    data(&format!("checkpoint/tests/data/{name}"))
}

fn json_of(folder: &Folder, args: &[&str]) -> Value {
    let ran = folder.run(&[&["checkpoint"], args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{args:?}: {}", ran.err))
}

/// The names and types of the arrays that `show` lists.
fn types(folder: &Folder, args: &[&str]) -> Vec<String> {
    let shown = json_of(folder, &[&["show"], args].concat());
    let array = |array: &Value| {
        format!("{} {}{}", array["name"].as_str().unwrap(), array["dtype"].as_str().unwrap(), array["shape"])
    };
    shown["arrays"].as_array().unwrap().iter().map(array).collect()
}

const STATE: [&str; 4] = ["epoch i64[]", "opt.1.count i32[]", "params.0 f32[4,6]", "params.1 bf16[5]"];

#[test]
fn checkpoints_of_orbax_are_shown_and_compared() {
    let folder = Folder::new();
    for place in [orbax("default"), orbax("zarr2"), orbax("items/5/state"), orbax("items/4")] {
        assert_eq!(types(&folder, &[&place]), STATE, "{place}");
        let ran = folder.run(&["checkpoint", "verify", &place]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        let ran = folder.run(&["checkpoint", "diff", &place, &orbax("default")]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    }
}

#[test]
fn items_are_listed_and_chosen() {
    let folder = Folder::new();
    let listed = json_of(&folder, &["ls", &orbax("items")]);
    let rows: Vec<Value> =
        listed["steps"].as_array().unwrap().iter().map(|row| json!([row["step"], row["item"]])).collect();
    assert_eq!(rows, [json!([4, "state"]), json!([5, "ema"]), json!([5, "state"])]);
    assert_eq!(types(&folder, &[&orbax("items"), "--item", "ema"]), ["w f32[2]"]);
    assert_eq!(types(&folder, &[&orbax("items"), "--step", "4", "--item", "state"]), STATE);
    for (args, words) in [
        (vec![], "has several items: ema, state"),
        (vec!["--item", "x"], "has no item x; its items are ema, state"),
    ] {
        let ran = folder.run(&[&["checkpoint", "show", &orbax("items/5")][..], &args].concat());
        assert!(ran.code == Some(1) && ran.err.contains("SH1314") && ran.err.contains(words), "{}", ran.err);
    }
}

#[test]
fn conversion_keeps_the_name_tree() {
    let folder = Folder::new();
    let ran = folder.run(&[
        "checkpoint",
        "convert",
        &orbax("default"),
        "-o",
        "p.safetensors",
        "--only",
        "params.*",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(types(&folder, &["p.safetensors"]), ["params.0 f32[4,6]", "params.1 bf16[5]"]);
    let ran = folder.run(&["checkpoint", "convert", &orbax("default"), "-o", "q.pt", "--only", "nothing"]);
    assert!(ran.code == Some(2) && ran.err.contains("no tensor matches nothing"), "{}", ran.err);
    let ran = folder.run(&["checkpoint", "reshard", &orbax("default"), "new", "--mesh", "data=2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tree: Value = serde_json::from_slice(&std::fs::read(folder.path("new/_METADATA")).unwrap()).unwrap();
    let of = |key: &str| {
        let leaf = &tree["tree_metadata"][key];
        json!([
            leaf["value_metadata"]["value_type"],
            leaf["key_metadata"].as_array().unwrap().last().unwrap()["key_type"]
        ])
    };
    assert_eq!(of("('opt', '0')"), json!(["Tuple", 1]));
    assert_eq!(of("('opt', '2')"), json!(["None", 1]));
    assert_eq!(of("('params', '1')"), json!(["jax.Array", 1]));
    assert_eq!(of("('epoch',)"), json!(["scalar", 2]));
}

#[test]
fn state_dicts_are_shown_verified_and_compared() {
    let folder = Folder::new();
    let dcp = data("statedict/tests/data/dcp/two");
    for output in ["m.safetensors", "m.pt", "again"] {
        let form: &[&str] = if output == "again" { &["--dcp"] } else { &[] };
        let ran = folder.run(&[&["checkpoint", "convert", &dcp, "-o", output][..], form].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(folder.run(&["checkpoint", "diff", output, &dcp]).out, "");
        assert_eq!(types(&folder, &[output]).len(), 6);
        let ran = folder.run(&["checkpoint", "verify", output]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    }
    let ran =
        folder.run(&["checkpoint", "reshard", &dcp, "sharded", "--mesh", "x=2", "--spec", "model.w=-,x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(folder.run(&["checkpoint", "diff", "sharded", "m.safetensors"]).out, "");
    let bytes = std::fs::read(folder.path("m.safetensors")).unwrap();
    std::fs::write(folder.path("cut.safetensors"), &bytes[..bytes.len() - 3]).unwrap();
    let bytes = std::fs::read(folder.path("m.pt")).unwrap();
    std::fs::write(folder.path("cut.pt"), &bytes[..bytes.len() - 30]).unwrap();
    for file in ["cut.safetensors", "cut.pt"] {
        let ran = folder.run(&["checkpoint", "show", file]);
        assert!(ran.code == Some(1) && ran.err.contains("the file is truncated"), "{}", ran.err);
        assert_eq!(folder.run(&["checkpoint", "verify", file]).code, Some(1));
    }
}
