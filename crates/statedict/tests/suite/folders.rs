//! Folders of safetensors files in the layouts of libraries other than transformers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use shardc_ir::DType;
use shardc_statedict::{StateDict, Tensor, is_state_dict, open, safetensors};

fn file(names: &[&str]) -> Vec<u8> {
    let mut dict = StateDict::new();
    for (i, name) in names.iter().enumerate() {
        dict.insert(*name, Tensor::from_bytes(DType::UI8, &[2], vec![i as u8, 7]).unwrap()).unwrap();
    }
    let mut bytes = Vec::new();
    safetensors::write(&dict, &mut bytes, &mut |_| {}).unwrap();
    bytes
}

/// Returns the tensor names in a folder with these files, or the error.
fn names(files: &[(&str, &[u8])]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    assert!(is_state_dict(folder.path()));
    let dict = open(folder.path()).map_err(|error| error.to_string())?;
    Ok(dict.names().map(str::to_owned).collect())
}

#[test]
fn an_index_has_any_name_and_files_in_subfolders() {
    let index = |file: &str| format!("{{\"metadata\": {{}}, \"weight_map\": {{\"w\": \"{file}\"}}}}");
    let one = index("diffusion_pytorch_model-00001-of-00001.safetensors");
    let files = [
        ("diffusion_pytorch_model.safetensors.index.json", one.as_bytes()),
        ("diffusion_pytorch_model-00001-of-00001.safetensors", &file(&["w", "unlisted"])),
    ];
    assert_eq!(names(&files), Ok(vec!["w".to_owned()]));
    let below = index("shards/model-00001.safetensors");
    let files = [
        ("model.safetensors.index.json", below.as_bytes()),
        ("shards/model-00001.safetensors", &file(&["w"])),
    ];
    assert_eq!(names(&files), Ok(vec!["w".to_owned()]));
    for outside in ["../x.safetensors", "/x.safetensors", "a/../../x", "", "a\\\\b"] {
        let index = index(outside);
        let error = names(&[("model.safetensors.index.json", index.as_bytes())]).unwrap_err();
        assert!(error.contains("not a file name within the folder of the index"), "{error}");
    }
    let two =
        [("a.safetensors.index.json", below.as_bytes()), ("b.safetensors.index.json", below.as_bytes())];
    assert!(names(&two).unwrap_err().contains("several indices: a.safetensors.index.json, b."));
}

#[test]
fn files_need_no_index() {
    let (a, b) = (file(&["a"]), file(&["b"]));
    let both = Ok(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(names(&[("x-1.safetensors", &a), ("x-2.safetensors", &b), ("config.json", b"{}")]), both);
    let error = names(&[("x.safetensors", &a), ("y.safetensors", &a)]).unwrap_err();
    assert!(error.contains("y.safetensors: tensor \"a\": two tensors have this name"), "{error}");
    assert!(!is_state_dict(Path::new(env!("CARGO_MANIFEST_DIR"))));
}

#[test]
fn duplicate_tensor_names_are_an_error() {
    let header = "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\
                  \"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[1, 2]].concat();
    let error = safetensors::from_bytes(bytes).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("SH1403", "two tensors are named \"w\""));
}

#[test]
fn a_truncated_file_is_reported() {
    let whole = file(&["w"]);
    for length in [9, whole.len() - 1] {
        let error = safetensors::from_bytes(whole[..length].to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("the file is truncated: "), "{error}");
    }
}
