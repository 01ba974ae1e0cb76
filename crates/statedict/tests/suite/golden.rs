//! Files written by PyTorch, PyTorch/XLA's FSDP and Python's safetensors are read bit for bit. The files are from `data/make.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use shardc_statedict::fsdp::{Layout, Sharding, consolidate_files, find_files, open_rank, shard, write_rank};
use shardc_statedict::torch::{Value, load};
use shardc_statedict::{ErrorKind, StateDict, open, open_torch, safetensors};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Checks that two state dicts have the same tensors, bit for bit.
fn assert_same(have: &StateDict, want: &StateDict) {
    let (mut names, mut wanted): (Vec<&str>, Vec<&str>) = (have.names().collect(), want.names().collect());
    names.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    for (name, want) in want.iter() {
        let have = have.get(name).unwrap();
        assert_eq!((have.dtype(), have.shape()), (want.dtype(), want.shape()), "{name}");
        assert_eq!(have.read().unwrap(), want.read().unwrap(), "{name}");
    }
}

#[test]
fn torch_and_safetensors_files_have_equal_tensors() {
    let want = open(&data("objects.safetensors")).unwrap();
    assert_eq!(want.len(), 23);
    assert_same(&open(&data("objects.pth")).unwrap(), &want);
}

#[test]
fn objects_are_as_in_python() {
    let value = load(&data("objects.pth")).unwrap();
    let shown = |key: &str| format!("{:?}", value.get(key).unwrap());
    let numbers = value.get("numbers").unwrap().items().unwrap();
    let ints: Vec<i64> =
        numbers.iter().filter_map(|n| if let Value::Int(n) = n { Some(*n) } else { None }).collect();
    assert_eq!(ints, [1, -1, 255, 256, 65535, 65536, -(1 << 31), 1 << 31, -(1 << 62)]);
    assert_eq!(format!("{:?}", &numbers[9..]), "[Float(1.5), Bool(true), Bool(false), None]");
    assert_eq!(shown("texts"), format!("Tuple([Str(\"a\"), Str(\"ä€\"), Str({:?})])", "x".repeat(300)));
    assert_eq!(
        (shown("size"), shown("dtype")),
        ("Tuple([Int(2), Int(3)])".to_owned(), "DType(BF16)".to_owned())
    );
    let nested = value.get("nested").unwrap();
    assert_eq!(format!("{:?}", nested.get("betas").unwrap()), "Tuple([Float(0.9), Float(0.999)])");
    let Value::Dict(items) = nested else { panic!("{nested:?}") };
    let step = items.iter().find(|(key, _)| matches!(key, Value::Int(7))).unwrap();
    let Value::Tensor(step) = step.1.get("step").unwrap() else { panic!("{step:?}") };
    assert_eq!(step.read().unwrap(), 4f32.to_le_bytes());
}

#[test]
fn the_key_of_a_state_dict_can_be_named() {
    let file = data("objects.pth");
    assert_eq!(open_torch(&file, Some("model")).unwrap().len(), 23);
    assert_eq!(open_torch(&file, Some("nested.betas")).unwrap_err().code(), "SH1413");
    let error = open_torch(&file, Some("nested.none")).unwrap_err();
    assert!(error.to_string().ends_with("the file has no key \"nested.none\""), "{error}");
    let error = open_torch(&file, Some("numbers")).unwrap_err();
    assert_eq!((error.code(), error.path()), ("SH1413", Some(file.as_path())));
    assert!(error.to_string().ends_with("\"numbers\" is a list, not a dict of tensors"), "{error}");
    assert!(error.advice().unwrap().contains("model, numbers, texts"), "{error:?}");
}

#[test]
fn the_legacy_format_is_rejected_with_a_hint() {
    let error = open(&data("legacy.pth")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Container);
    assert!(error.to_string().contains("before PyTorch 1.6"), "{error}");
    assert!(error.advice().unwrap().contains("torch.save(torch.load(FILE), FILE)"));
}

const LAYOUTS: [&str; 4] = ["flat", "flattened", "first", "single"];
const RANKS: &str = "_rank-*-of-*.pth";

fn ranks(layout: &str) -> Vec<PathBuf> {
    find_files(data(layout).to_str().unwrap(), RANKS).unwrap()
}

#[test]
fn rank_files_are_consolidated_as_in_pytorch_xla() {
    for layout in LAYOUTS {
        let want = open(&data(&format!("{layout}.safetensors"))).unwrap();
        let mut files = ranks(layout);
        files.reverse();
        let have = consolidate_files(&files).unwrap();
        assert_same(&have, &want);
        let names: Vec<String> = serde_json::from_str(&want.metadata["names"]).unwrap();
        assert_eq!(have.names().collect::<Vec<_>>(), names, "the order of {layout}");
    }
}

#[test]
fn safetensors_rank_files_are_equivalent() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        for path in ranks(layout) {
            let rank = open_rank(&path).unwrap();
            let name = path.with_extension("safetensors");
            let copy = folder.path().join(name.file_name().unwrap());
            write_rank(&copy, &rank.model, &rank.metadata).unwrap();
            let again = open_rank(&copy).unwrap();
            assert_eq!(again.metadata, rank.metadata);
            assert_same(&again.model, &rank.model);
        }
        let prefix = folder.path().join(layout);
        let files = find_files(prefix.to_str().unwrap(), "_rank-*-of-*.safetensors").unwrap();
        let full = consolidate_files(&files).unwrap();
        assert_same(&full, &open(&data(&format!("{layout}.safetensors"))).unwrap());
    }
}

#[test]
fn shards_match_pytorch_xla() {
    let full = consolidate_files(&ranks("single")).unwrap();
    let is_buffer = |name: &&str| name.contains("running") || name.contains("tracked") || *name == "scale";
    let buffers: Vec<&str> = full.names().filter(is_buffer).collect();
    assert_eq!(buffers.len(), 4);
    for (i, path) in ranks("single").iter().enumerate() {
        let sharding = Sharding { layout: Layout::Flat { multiple: 128 }, world_size: 2 };
        let (model, metadata) = shard(&full, &buffers, sharding, i).unwrap();
        let want = open_rank(path).unwrap();
        assert_same(&model, &want.model);
        let (have, want) = (&metadata.shard_info[""], &want.metadata.shard_info[""]);
        assert!(
            have.iter().all(|(name, shard)| want[name] == *shard) && have.len() == want.len(),
            "{have:?}"
        );
    }
}

#[test]
fn missing_and_unexpected_rank_files_are_named() {
    let files = ranks("flat");
    let error = consolidate_files(&files[..2]).unwrap_err();
    assert_eq!((error.code(), error.path()), ("SH1409", Some(files[0].as_path())));
    assert!(
        error.to_string().ends_with("the file is from a checkpoint of 3 ranks, but 2 rank files were found"),
        "{error}"
    );
    let error = consolidate_files(&[&files[..2], &files[..1]].concat()).unwrap_err();
    assert!(
        error.to_string().ends_with("the file has rank 0, but another file has the same rank"),
        "{error}"
    );
    let error = consolidate_files(&[&files[1..], &files[2..]].concat()).unwrap_err();
    assert!(error.to_string().ends_with("the file has rank 1, but no file has rank 0"), "{error}");
    let foreign = ranks("single");
    let error = consolidate_files(&[files[0].clone(), foreign[1].clone()]).unwrap_err();
    assert_eq!(error.code(), "SH1409", "{error}");
    let error = consolidate_files(&[data("objects.pth")]).unwrap_err();
    assert_eq!(error.code(), "SH1410", "{error}");
    assert!(error.to_string().contains("no shard metadata"), "{error}");
    let error = find_files(data("flatt").to_str().unwrap(), "_none_*").unwrap_err();
    assert_eq!(error.code(), "SH1402", "{error}");
}

#[test]
fn written_bytes_match_python() {
    for name in ["objects.safetensors", "flat.safetensors"] {
        let file = fs::read(data(name)).unwrap();
        let dict = open(&data(name)).unwrap();
        let mut out = Vec::new();
        let mut done = 0;
        safetensors::write(&dict, &mut out, &mut |n| done += n).unwrap();
        assert_eq!(out, file, "{name}");
        assert_eq!(done, dict.byte_len());
    }
}
