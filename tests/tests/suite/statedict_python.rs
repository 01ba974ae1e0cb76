//! Python libraries (in `data/statedict.py`) read shardc's files, and shardc reads their files, bit for bit.
//!
//! Python is `SHARDC_PYTHON`, which must have the package safetensors, or a `python3` that has it. Without either, the tests are skipped
//! with a message, and fail under `SHARDC_REQUIRE=python`. Torch files are read by `torch.load` if the package torch is installed, and
//! otherwise by Python's pickle. Files written by PyTorch itself are tested in `crates/statedict`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shardc::ir::DType;
use shardc::statedict::{StateDict, Tensor, open, safetensors, torch};
use shardc_filetest::skip::{Need, skip};
use shardc_tests::root;

/// A tensor in Python: element type, shape, hexadecimal bytes.
type Shown = (String, Vec<usize>, String);

const TYPES: [(DType, &str); 12] = [
    (DType::F32, "F32"),
    (DType::BF16, "BF16"),
    (DType::F16, "F16"),
    (DType::F64, "F64"),
    (DType::I64, "I64"),
    (DType::I32, "I32"),
    (DType::I16, "I16"),
    (DType::I8, "I8"),
    (DType::UI8, "U8"),
    (DType::I1, "BOOL"),
    (DType::UI16, "U16"),
    (DType::F8E4M3FN, "F8_E4M3"),
];

fn python() -> PathBuf {
    std::env::var_os("SHARDC_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// Whether there is a Python with safetensors; reports if not.
fn has_python() -> bool {
    if std::env::var_os("SHARDC_PYTHON").is_some() {
        return true;
    }
    let python = python();
    let found = Command::new(&python).args(["-c", "import safetensors"]).stderr(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        let reason = format!("{} has no safetensors (`pip install safetensors`)", python.display());
        skip(Need::Python, &reason);
    }
    is_there
}

/// The output of the script.
fn script(arguments: &[&Path], command: &str, input: &str) -> String {
    let script = root().join("tests/data/statedict.py");
    let mut child = Command::new(python());
    child.arg(script).arg(command).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the script fails");
    String::from_utf8(output.stdout).unwrap()
}

/// Tensors of all types; the BF16 tensor has every 16-bit pattern.
fn dict() -> StateDict {
    let mut dict = StateDict::new();
    for (i, (dtype, name)) in TYPES.into_iter().enumerate() {
        let shape: &[usize] = match (dtype, i % 4) {
            (DType::BF16, _) => &[256, 256],
            (_, 0) => &[3, 4],
            (_, 1) => &[],
            (_, 2) => &[2, 1, 5],
            _ => &[0, 3],
        };
        let len = shape.iter().product::<usize>() * dtype.bytes();
        let bytes: Vec<u8> = match dtype {
            DType::BF16 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
            DType::I1 => (0..len).map(|n| (n % 2) as u8).collect(),
            _ => (0..len).map(|n| (n * 29 + i) as u8).collect(),
        };
        dict.insert(format!("layer.{name}"), Tensor::from_bytes(dtype, shape, bytes).unwrap()).unwrap();
    }
    dict
}

fn shown(dict: &StateDict) -> BTreeMap<String, Shown> {
    let one = |(name, tensor): (&str, &Tensor)| {
        let (_, dtype) = TYPES.into_iter().find(|&(dtype, _)| dtype == tensor.dtype()).unwrap();
        let bytes: String = tensor.read().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        (name.to_owned(), (dtype.to_owned(), tensor.shape().to_vec(), bytes))
    };
    dict.iter().map(one).collect()
}

fn parsed(text: &str) -> BTreeMap<String, Shown> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn python_reads_our_safetensors() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (dict, want) = (dict(), shown(&dict()));
    for (size, count) in [(u64::MAX, 1), (100, 4)] {
        let split = safetensors::split(&dict, "model", size).unwrap();
        assert_eq!(split.parts.len(), count);
        let paths: Vec<PathBuf> = split.parts.iter().map(|part| folder.path().join(&part.file)).collect();
        for (part, path) in split.parts.iter().zip(&paths) {
            safetensors::write(&part.tensors, &mut File::create(path).unwrap(), &mut |_| {}).unwrap();
        }
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        assert!(
            parsed(&script(&paths, "read", "")) == want,
            "what Python reads of {count} files is something else"
        );
        // Python reads the same tensors from an index and its files.
        if let Some((name, text)) = &split.index {
            fs::write(folder.path().join(name), text).unwrap();
            let index: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(index["metadata"]["total_size"], dict.byte_len());
            assert_eq!(shown(&open(folder.path()).unwrap()), want);
        }
    }
}

#[test]
fn safetensors_of_python_are_read() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("python.safetensors");
    let want = shown(&dict());
    script(&[&path], "write", &serde_json::to_string(&want).unwrap());
    let have = open(&path).unwrap();
    assert!(shown(&have) == want, "what we read of Python's file is something else");
    assert_eq!(have.metadata["format"], "pt");
    // Writing the tensors again produces an identical file.
    let mut again = Vec::new();
    safetensors::write(&have, &mut again, &mut |_| {}).unwrap();
    assert!(again == fs::read(&path).unwrap(), "the bytes of the file are others");
}

#[test]
fn python_reads_our_torch_files() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.pth");
    let mut dict = StateDict::new();
    // Element types that the script cannot read without PyTorch are omitted.
    for (name, tensor) in self::dict().iter().filter(|(_, t)| !matches!(t.dtype(), DType::I16 | DType::I8)) {
        dict.insert(name, tensor.clone()).unwrap();
    }
    torch::save(&torch::to_value(&dict), "ours", File::create(&path).unwrap(), &mut |_| {}).unwrap();
    let text = script(&[&path], "torch", "");
    let (reader, text) = text.split_once('\n').unwrap();
    assert!(parsed(text) == shown(&dict), "what {reader} reads is something else");
}
