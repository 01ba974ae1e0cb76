//! Tests that tensorstore and Orbax read shardc's checkpoints, and that shardc reads checkpoints of both, bit for bit.
//!
//! `SHARDC_PYTHON` names a Python with `jax`, `orbax-checkpoint` and `tensorstore`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::common::{Arrays, array, part, save_blocks, state_of, varied};
use serde_json::{Value, json};
use shardc_checkpoint::{
    Alone, Checkpoint, CheckpointManager, Entry, Fit, Info, Options, Region, Sharding, Store, Wanted, items,
    reshard,
};
use shardc_filetest::sample::is_thorough;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::DType;

fn python() -> Option<OsString> {
    let python = std::env::var_os("SHARDC_PYTHON");
    if python.is_none() {
        skip(Need::Python, "SHARDC_PYTHON names no Python with jax, orbax-checkpoint and tensorstore");
    }
    python
}

fn run(python: &OsString, script: &str, folder: &Path) -> String {
    run_with(python, script, folder, None)
}

fn run_with(python: &OsString, script: &str, folder: &Path, count: Option<usize>) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let count = count.map(|count| count.to_string());
    let output = Command::new(python).arg(script).arg(folder).args(count).output().expect("Python starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

/// Returns NumPy's name for an element type.
fn numpy(dtype: DType) -> &'static str {
    use DType as D;
    match dtype {
        D::I1 => "bool",
        D::I2 => "int2",
        D::I4 => "int4",
        D::I8 => "int8",
        D::I16 => "int16",
        D::I32 => "int32",
        D::I64 | D::Index => "int64",
        D::UI16 => "uint16",
        D::UI32 => "uint32",
        D::UI64 => "uint64",
        D::F4E2M1FN => "float4_e2m1fn",
        D::F8E3M4 => "float8_e3m4",
        D::F8E4M3B11FNUZ => "float8_e4m3b11fnuz",
        D::F8E4M3FN => "float8_e4m3fn",
        D::F8E4M3FNUZ => "float8_e4m3fnuz",
        D::F8E5M2 => "float8_e5m2",
        D::F8E5M2FNUZ => "float8_e5m2fnuz",
        D::F8E8M0FNU => "float8_e8m0fnu",
        D::BF16 => "bfloat16",
        D::F16 => "float16",
        D::TF32 | D::F32 => "float32",
        D::F64 => "float64",
        D::C64 => "complex64",
        D::C128 => "complex128",
        D::UI2 | D::UI4 | D::UI8 | D::F6E2M3FN | D::F6E3M2FN | D::F8E4M3 => "uint8",
    }
}

#[test]
fn python_reads_our_checkpoints() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let mut arrays: Arrays = varied(&[4, 2]);
    arrays.insert("params.even".to_owned(), (array(77, DType::BF16, &[64, 32]), vec![4, 2]));
    save_blocks(&store, "plain", &arrays, &Info::default(), &Alone).unwrap();
    let manager = CheckpointManager::new(&store, "steps", Options::default()).unwrap();
    let mut state = state_of(&arrays, &Info::default(), &Alone);
    for entry in &mut state.entries {
        let axes = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let spec = [axes(&["data"]), axes(&["model"])].into_iter().take(entry.shape.len()).collect();
        entry.sharding = Some(Sharding { mesh: vec![("data".into(), 4), ("model".into(), 2)], spec });
    }
    let read = |entry: &Entry, region: &Region| Ok(part(&arrays[&entry.name].0, region));
    manager.save(3, &state, &read).unwrap();
    let expected: Vec<Value> = arrays
        .iter()
        .enumerate()
        .map(|(i, (name, (array, _)))| {
            let file = format!("{i}.bin");
            std::fs::write(folder.path().join(&file), &array.bytes).unwrap();
            let mask = if array.dtype.bits() < 8 { (1u32 << array.dtype.bits()) - 1 } else { 255 };
            json!({ "name": name, "file": file, "shape": array.shape, "dtype": numpy(array.dtype), "mask": mask })
        })
        .collect();
    std::fs::write(folder.path().join("expected.json"), json!(expected).to_string()).unwrap();
    let stdout = run(&python, "read_ours.py", folder.path());
    assert_eq!(stdout.trim(), format!("{} arrays are the same", arrays.len()));
}

#[test]
fn python_checkpoints_are_read() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&python, "write_theirs.py", folder.path());
    let store = Store::folder(folder.path()).unwrap();
    let expected = std::fs::read(folder.path().join("expected.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
    let open = |path: &str| Checkpoint::open(&store, path).unwrap();
    let manager = CheckpointManager::new(&store, "steps", Options::default()).unwrap();
    assert_eq!(manager.all_steps().unwrap(), [3]);
    let mut compared = 0;
    let forms =
        ["plain", "forms", "ocdbt", "ocdbt3", "zarr2", "unmerged", "items/5", "v1", "versions", "numbered"];
    let opened = forms.into_iter().map(|form| (form, open(form)));
    for (form, checkpoint) in opened.chain([("steps/3", manager.open(3).unwrap())]) {
        assert!(checkpoint.entries().len() >= 3, "{form}");
        for entry in checkpoint.entries() {
            let known = expected.iter().find(|known| known["name"] == entry.name.as_str());
            let known = known.unwrap_or_else(|| panic!("{} was not written", entry.name));
            assert_eq!(json!([entry.dtype.as_str(), entry.shape]), json!([known["dtype"], known["shape"]]));
            let data = std::fs::read(folder.path().join(known["file"].as_str().unwrap())).unwrap();
            // Reads the entire array, and each half along the first dimension.
            let halves =
                Entry::split(&entry.name, entry.dtype, &entry.shape, &vec![2; entry.shape.len()]).blocks();
            let mut regions = vec![Region::whole(&entry.shape)];
            regions.extend(halves);
            let whole = crate::common::Array { dtype: entry.dtype, shape: entry.shape.clone(), bytes: data };
            let mask = known["mask"].as_u64().unwrap() as u8;
            let want = Wanted {
                name: entry.name.clone(),
                dtype: entry.dtype,
                shape: entry.shape.clone(),
                regions: regions.clone(),
            };
            let mut take = |_, region: usize, elements: &mut Vec<u8>| {
                let masked = |bytes: Vec<u8>| bytes.into_iter().map(|b| b & mask).collect::<Vec<u8>>();
                assert!(
                    masked(std::mem::take(elements)) == masked(part(&whole, &regions[region])),
                    "{}",
                    entry.name
                );
                compared += 1;
                Ok(())
            };
            checkpoint.restore(&[want], &Fit::partial(), &mut take, None).unwrap();
        }
        assert_eq!(checkpoint.verify(None).unwrap(), [], "{form}");
    }
    assert_eq!(items(&store, "items/5").unwrap(), ["state"]);
    assert!(compared > 60, "{compared}");
    let sharding = open("plain").entries().find(|e| e.name == "params.both").unwrap().sharding.clone();
    let mesh = vec![("data".to_owned(), 4), ("model".to_owned(), 2)];
    let spec = vec![vec!["data".to_owned(), "model".to_owned()]];
    assert_eq!(sharding, Some(Sharding { mesh, spec }));
    // A missing chunk must be an error, and not be read as zeros.
    std::fs::remove_file(folder.path().join("plain/params.zeros/c/1/0")).unwrap();
    let damage = open("plain").verify(None).unwrap();
    assert_eq!(damage.iter().map(|d| d.object.as_str()).collect::<Vec<_>>(), ["params.zeros/c/1/0"]);
    for form in ["ocdbt", "versions"] {
        flip_bytes(&store, folder.path(), form);
    }
}

/// Checks that opening and verifying a checkpoint whose files are truncated or changed at any position does not panic.
fn flip_bytes(store: &Store, folder: &Path, form: &str) {
    let data =
        |folder: &Path| std::fs::read_dir(folder).map(|list| list.map(|file| file.unwrap().path()).collect());
    let mut files: Vec<std::path::PathBuf> = data(&folder.join(form).join("d")).unwrap();
    files.truncate(3);
    files.push(folder.join(form).join("manifest.ocdbt"));
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            for content in [&changed[..], &bytes[..at]] {
                std::fs::write(&file, content).unwrap();
                if let Ok(checkpoint) = Checkpoint::open(store, form) {
                    drop(checkpoint.verify(None));
                }
            }
        }
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(Checkpoint::open(store, form).unwrap().verify(None).unwrap(), []);
}

#[test]
fn trees_round_trip_through_orbax() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::folder(folder.path()).unwrap();
    let count = if is_thorough() { 200 } else { 20 };
    run_with(&python, "write_trees.py", folder.path(), Some(count));
    for number in 0..count {
        let from = Checkpoint::open(&store, &format!("theirs/{number}")).unwrap();
        let entries = from.entries().cloned().collect();
        reshard(&from, entries, &store, &format!("ours/{number}"), &Alone, None).unwrap();
    }
    let stdout = run_with(&python, "read_trees.py", folder.path(), Some(count));
    assert_eq!(stdout.trim(), format!("{count} trees are the same"));
}
