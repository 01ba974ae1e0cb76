//! `shardc checkpoint`: conversion of state dicts between formats, and consolidation of the files of FSDP ranks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Folder;
use shardc::statedict::{StateDict, open, torch};

/// A file written by PyTorch or PyTorch/XLA.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../statedict/tests/data").join(name)
}

fn contents(dict: &StateDict) -> Vec<(String, String, Vec<usize>, Vec<u8>)> {
    let mut all: Vec<_> = dict
        .iter()
        .map(|(name, t)| (name.to_owned(), t.dtype().to_string(), t.shape().to_vec(), t.read().unwrap()))
        .collect();
    all.sort();
    all
}

/// Copies the rank files of a layout to a folder.
fn ranks(folder: &Folder, layout: &str, prefix: &str) {
    for entry in fs::read_dir(data("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if let Some(rest) = name.strip_prefix(layout).filter(|rest| rest.starts_with("_rank-")) {
            fs::copy(&path, folder.path(&format!("{prefix}{rest}"))).unwrap();
        }
    }
}

#[test]
fn ranks_are_consolidated() {
    let folder = Folder::new();
    for layout in ["flat", "flattened", "first", "single"] {
        ranks(&folder, layout, layout);
        let want = contents(&open(&data(&format!("{layout}.safetensors"))).unwrap());
        // The options are those of torch_xla's own command, including names with underscores.
        let suffix = "_rank-*-of-*.pth";
        let ran =
            folder.run(&["checkpoint", "consolidate", "--ckpt_prefix", layout, "--ckpt_suffix", suffix]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
        let made = format!("{layout}_consolidated.pth");
        assert!(ran.err.starts_with(&format!("{made}: {} tensors, ", want.len())), "{}", ran.err);
        assert_eq!(contents(&open(&folder.path(&made)).unwrap()), want);
        // The state dict is nested in a dict under `model`, as in torch_xla.
        assert!(torch::load(&folder.path(&made)).unwrap().get("model").is_some());
        let one = format!("{layout}.safetensors");
        let args = ["--ckpt-prefix", layout, "--ckpt-suffix", suffix, "--save-path", &one];
        let ran = folder.run(&[&["checkpoint", "consolidate"], &args[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(contents(&open(&folder.path(&one)).unwrap()), want);
    }
}

#[test]
fn a_consolidated_file_is_not_read_as_a_rank_file() {
    let folder = Folder::new();
    ranks(&folder, "flat", "c");
    let consolidate = ["checkpoint", "consolidate", "--ckpt-prefix", "c"];
    assert_eq!(folder.run(&consolidate).code, Some(0));
    // The default pattern also matches the consolidated file.
    let ran = folder.run(&consolidate);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.starts_with("error[SH1410]: c_consolidated.pth: the file has no shard metadata"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("help: save {\"model\""), "{}", ran.err);
    fs::remove_file(folder.path("c_rank-00000001-of-00000003.pth")).unwrap();
    let ran = folder.run(&[&consolidate[..], &["--ckpt-suffix", "_rank-*", "--format", "json"]].concat());
    let diagnostic: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((ran.code, &diagnostic["code"]), (Some(1), &"SH1409".into()), "{diagnostic}");
    let ran = folder.run(&["checkpoint", "consolidate", "--ckpt-prefix", "none"]);
    assert!(ran.err.starts_with("error[SH1402]: no file matches none*.pth"), "{}", ran.err);
}

#[test]
fn state_dicts_are_converted() {
    let folder = Folder::new();
    let want = contents(&open(&data("objects.safetensors")).unwrap());
    let input = data("objects.pth");
    let mut from = input.to_str().unwrap().to_owned();
    for (to, made) in [
        ("one.safetensors", "one.safetensors"),
        ("two.pth", "two.pth"),
        ("whole/", "whole/model.safetensors"),
        ("parts/m.safetensors", "parts/m.safetensors.index.json"),
        ("back.bin", "back.bin"),
    ] {
        let size: &[&str] = if to.starts_with("parts") { &["--max-shard-size", "100B"] } else { &[] };
        let ran = folder.run(&[&["checkpoint", "convert", &from, "-o", to], size].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{to}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("{made}: 23 tensors, 404 B")), "{}", ran.err);
        assert_eq!(contents(&open(&folder.path(made)).unwrap()), want, "{to}");
        from = made.to_owned();
    }
    let names: Vec<_> = fs::read_dir(folder.path("parts")).unwrap().collect();
    assert!(names.len() > 4, "{names:?}");
}

#[test]
fn usage_errors_leave_no_file() {
    let folder = Folder::new();
    let input = data("objects.pth");
    let input = input.to_str().unwrap();
    fs::copy(input, folder.path("in.pth")).unwrap();
    let assert_error = |args: &[&str], code: i32, text: &str| {
        let ran = folder.run(&[&["checkpoint", "convert"], args].concat());
        assert!(ran.code == Some(code) && ran.err.contains(text), "{args:?}: {:?} {}", ran.code, ran.err);
        assert_eq!(folder.made(), ["in.pth"], "{args:?}");
    };
    assert_error(&["in.pth", "-o", "in.pth"], 2, "would overwrite the input");
    assert_error(&["in.pth", "-o", "out.npz"], 2, "must end with .safetensors");
    assert_error(&["in.pth", "-o", "-"], 2, "must end with .safetensors");
    assert_error(&["in.pth", "-o", "out.pth", "--max-shard-size", "1GB"], 2, "is not split");
    assert_error(&["in.pth", "-o", "out.safetensors", "--max-shard-size", "much"], 2, "write it as 5GB");
    assert_error(
        &["in.pth", "-o", "out.safetensors", "--key", "nested"],
        1,
        "error[SH1413]: in.pth: \"lr\" is a float, not a tensor",
    );
    assert_error(
        &["in.pth", "-o", "out.safetensors", "--key", "none"],
        1,
        "the keys are model, numbers, texts",
    );
    assert_error(&["none.pth", "-o", "out.safetensors"], 1, "error[SH1402]: none.pth: no such file");
    assert_error(
        &["plain.mlir", "-o", "out.pth"],
        1,
        "error[SH1403]: plain.mlir: the file is not a safetensors file",
    );
}
