//! `shardc checkpoint`: listing, showing, verifying, comparing and resharding checkpoints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::Folder;
use serde_json::{Value, json};
use shardc::checkpoint::{CheckpointManager, Entry, Info, Options, Sharding, Slice, StateParts, Store};
use shardc_ir::DType;

/// Saves two steps of a run in the folder `run`.
fn saved(folder: &Folder) {
    let store = Store::folder(&folder.path("run")).unwrap();
    let manager = CheckpointManager::new(&store, "", Options::default()).unwrap();
    let axis = |name: &str| vec![name.to_owned()];
    let mesh = vec![("data".to_owned(), 2), ("model".to_owned(), 2)];
    let w = Entry {
        sharding: Some(Sharding { mesh, spec: vec![axis("data"), axis("model")] }),
        ..Entry::split("params.w", DType::F32, &[8, 6], &[2, 2])
    };
    let entries = vec![w, Entry::whole("step", DType::I32, &[])];
    let slices = entries
        .iter()
        .enumerate()
        .flat_map(|(entry, e)| e.blocks().into_iter().map(move |region| Slice { entry, region }));
    let info = Info { program: Some("abc".to_owned()), ..Info::default() };
    let state = StateParts { slices: slices.collect(), entries: entries.clone(), info };
    for step in [1u8, 2] {
        manager
            .save(step.into(), &state, &|entry, region| {
                let byte = if entry.name == "step" { step } else { 7 };
                Ok(vec![byte; region.elements() * entry.dtype.bytes()])
            })
            .unwrap();
    }
}

fn json_of(folder: &Folder, args: &[&str]) -> Value {
    let ran = folder.run(&[&["checkpoint"], args, &["--format", "json"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{args:?}: {}", ran.err))
}

#[test]
fn steps_are_listed_and_shown() {
    let folder = Folder::new();
    saved(&folder);
    let ran = folder.run(&["checkpoint", "ls", "run"]);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 3), "{}{}", ran.out, ran.err);
    let listed = json_of(&folder, &["ls", "run"]);
    assert_eq!(
        listed["steps"][1],
        json!({ "step": 2, "arrays": 2, "bytes": 196, "processes": 1, "program": "abc" })
    );
    let ran = folder.run(&["checkpoint", "show", "run", "--step", "1"]);
    assert!(
        ran.out.contains("params.w  f32[8, 6]       4  4, 3   data=2,model=2  data,model"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("step: 1\nprogram: abc\n"), "{}", ran.out);
    // Both commands show step 2: the last step of the folder, and the named step.
    for args in [["show", "run"], ["show", "run/2"]] {
        let shown = json_of(&folder, &args);
        assert_eq!((&shown["step"], &shown["arrays"][0]["block"]), (&json!(2), &json!([4, 3])));
    }
    let ran = folder.run(&["checkpoint", "show", "run", "--step", "9"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("SH1305") && ran.err.contains("there are steps 1, 2"), "{}", ran.err);
    let ran = folder.run(&["checkpoint", "ls", "ftp://x/y"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert_eq!(folder.run(&["checkpoint", "ls", "nowhere"]).out, "nowhere: no steps\n");
}

#[test]
fn corrupted_files_are_named() {
    let folder = Folder::new();
    saved(&folder);
    let ran = folder.run(&["checkpoint", "verify", "run", "--all"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1: all data is intact\n2: all data is intact\n"));
    let file = folder.path("run/2/default/params.w/c/1/0");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let ran = folder.run(&["checkpoint", "verify", "run"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("run: params.w/c/1/0 "), "{}", ran.out);
    let damages = json_of(&folder, &["verify", "run", "--all"]);
    assert_eq!(damages["checkpoints"][0]["damages"], json!([]));
    assert_eq!(damages["checkpoints"][1]["damages"][0]["array"], "params.w");
}

#[test]
fn checkpoints_are_compared_and_resharded() {
    let folder = Folder::new();
    saved(&folder);
    let ran = folder.run(&["checkpoint", "diff", "run/1", "run/2"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "~ step: 1 of 1 elements\n"), "{}", ran.err);
    let ran = folder.run(&["checkpoint", "diff", "run/1", "run/2", "--types-only"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    for (to, args, block) in [
        ("a", vec!["--mesh", "model=3"], json!([8, 2])),
        ("b", vec!["--mesh", "data=2,model=4", "--spec", "params.*=data+model,-"], json!([1, 6])),
        ("c", vec!["--whole"], json!([8, 6])),
    ] {
        let ran = folder.run(&[&["checkpoint", "reshard", "run", to][..], &args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let shown = json_of(&folder, &["show", to]);
        assert_eq!((&shown["step"], &shown["arrays"][0]["block"]), (&json!(2), &block));
        assert_eq!(folder.run(&["checkpoint", "diff", "run/2", to]).code, Some(0));
    }
    for (args, message) in [
        (["--mesh", "model=2", "--spec", "x=model"], "no array matches x"),
        (["--mesh", "model=2", "--spec", "step=model"], "step has 1 dimensions"),
        (["--mesh", "model=2", "--spec", "params.w=other"], "no axis other"),
    ] {
        let ran = folder.run(&[&["checkpoint", "reshard", "run", "d"][..], &args].concat());
        assert!(ran.code == Some(2) && ran.err.contains(message), "{}", ran.err);
    }
    let ran = folder.run(&["checkpoint", "reshard", "run", "a", "--whole"]);
    assert!(ran.code == Some(1) && ran.err.contains("SH1306"), "{}", ran.err);
}
