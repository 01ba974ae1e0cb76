//! Checkpoints written by torch.distributed.checkpoint (torch 2.15.0), and checkpoints written for it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Cursor;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use shardc_ir::DType;
use shardc_statedict::{StateDict, Tensor, dcp, is_state_dict, open};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dcp").join(name)
}

/// Returns the numbers 0, 1, 2, ... in an element type.
fn numbers(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let count: usize = shape.iter().product();
    let bytes = |n: usize| match dtype {
        DType::F32 => (n as f32).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(n as f64).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(n as f64).to_le_bytes().to_vec(),
        _ => panic!("{dtype}"),
    };
    (0..count).flat_map(bytes).collect()
}

fn check(dict: &StateDict, name: &str, dtype: DType, shape: &[usize]) {
    let tensor = dict.get(name).unwrap();
    assert_eq!((tensor.dtype(), tensor.shape()), (dtype, shape), "{name}");
    assert_eq!(tensor.read().unwrap(), numbers(dtype, shape), "{name}");
}

#[test]
fn one_and_two_processes_save_the_same() {
    for name in ["one", "two"] {
        assert!(is_state_dict(&data(name)));
        let dict = open(&data(name)).unwrap();
        let names: Vec<&str> = dict.names().collect();
        let all = [
            "model.b",
            "model.cols",
            "model.flags",
            "model.w",
            "optim.state.w.exp_avg",
            "optim.state.w.step",
        ];
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all, "{name}");
        check(&dict, "model.w", DType::F32, &[5, 4]);
        check(&dict, "model.cols", DType::BF16, &[3, 6]);
        check(&dict, "model.b", DType::F16, &[4]);
        assert_eq!(dict.get("model.flags").unwrap().read().unwrap(), [1, 0]);
        assert_eq!(dict.get("optim.state.w.step").unwrap().read().unwrap(), 3f32.to_le_bytes());
        let texts: Vec<(&str, &str)> =
            dict.metadata.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        assert_eq!(texts, [("lr.0", "0.1"), ("lr.1.name", "adam"), ("step", "7")]);
        // Reads across the boundary of the two boxes.
        let part = dict.get("model.cols").unwrap().read_slice(&[1..3, 2..4]).unwrap();
        let want: Vec<u8> =
            [8.0, 9.0, 14.0, 15.0].into_iter().flat_map(|n| bf16::from_f64(n).to_le_bytes()).collect();
        assert_eq!(part, want);
    }
}

#[test]
fn hugging_face_file_slices_are_assembled() {
    let dict = open(&data("hf")).unwrap();
    assert_eq!(dict.len(), 2);
    check(&dict, "w", DType::F32, &[5, 4]);
    check(&dict, "b", DType::F32, &[4]);
    assert_eq!(dict.metadata.get("format").map(String::as_str), Some("pt"));
    // If only the second file is opened, the first rows are missing.
    let folder = tempfile::tempdir().unwrap();
    let file = "shard-00002-model-00001-of-00001.safetensors";
    std::fs::copy(data("hf").join(file), folder.path().join(file)).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("chunks are missing"), "{error}");
}

#[test]
fn written_checkpoints_round_trip() {
    let mut dict = StateDict::new();
    for (name, dtype, shape) in
        [("a.w", DType::F32, vec![3, 2]), ("b", DType::BF16, vec![]), ("c", DType::F16, vec![0, 2])]
    {
        dict.insert(name, Tensor::from_bytes(dtype, &shape, numbers(dtype, &shape)).unwrap()).unwrap();
    }
    let (mut file, mut metadata) = (Cursor::new(Vec::new()), Vec::new());
    dcp::write(&dict, &mut file, &mut metadata, &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(dcp::DATA), file.into_inner()).unwrap();
    std::fs::write(folder.path().join(dcp::METADATA), metadata).unwrap();
    let read = open(folder.path()).unwrap();
    for (name, tensor) in dict.iter() {
        let back = read.get(name).unwrap();
        assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()));
        assert_eq!(back.read().unwrap(), tensor.read().unwrap());
    }
}

#[test]
fn damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for file in [".metadata", "__0_0.distcp", "__1_0.distcp"] {
        std::fs::copy(data("two").join(file), folder.path().join(file)).unwrap();
    }
    let whole = std::fs::read(data("two/.metadata")).unwrap();
    let path = folder.path().join(".metadata");
    for at in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(open(folder.path()).is_err(), "{at}");
        let mut changed = whole.clone();
        changed[at] ^= 0x11;
        std::fs::write(&path, changed).unwrap();
        drop(open(folder.path()).map(|dict| dict.iter().for_each(|(_, tensor)| drop(tensor.read()))));
    }
    let says = |content: &[u8], words: &str| {
        std::fs::write(&path, content).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    };
    says(b"\x80\x04}.", "not metadata of torch.distributed.checkpoint");
    says(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.", "`os.system`");
    // A path that points outside of the folder.
    let at = whole.windows(12).position(|bytes| bytes == b"__0_0.distcp").unwrap();
    let mut outside = whole.clone();
    outside[at..at + 4].copy_from_slice(b"../x");
    says(&outside, "outside of the checkpoint's folder");
    std::fs::write(&path, &whole).unwrap();
    let file = folder.path().join("__1_0.distcp");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("the file is truncated"), "{error}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(open(folder.path()).unwrap_err().code(), "SH1402");
}
