//! Plugins: `shardc plugin doctor` on a given file, and ahead-of-time compilation for absent devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::Folder;
use shardc_filetest::skip::{Need, skip};

/// Returns the file of the installed plugin of a kind, if there is one.
fn plugin(folder: &Folder, kind: &str) -> Option<String> {
    let listed = folder.run(&["plugin", "list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let found = list["plugins"].as_array().unwrap().iter().find(|plugin| plugin["kind"] == kind)?;
    Some(found["file"].as_str().unwrap().to_owned())
}

#[test]
fn a_given_plugin_that_does_not_load_is_reported() {
    let folder = Folder::new();
    std::fs::write(folder.path("libtpu.so"), "no plugin").unwrap();
    for (file, kind, why) in [
        ("libtpu.so", "tpu", "it is not a shared library"),
        ("missing.so", "cpu", "No such file or directory"),
    ] {
        let ran = folder.run(&["plugin", "doctor", "--plugin", file]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(
            ran.out.starts_with(&format!("{kind}: {file} (named explicitly)\n  does not load: ")),
            "{ran:?}"
        );
        assert!(ran.out.contains(why), "{ran:?}");
        // `plugin doctor --plugin` checks no plugin except the given file.
        assert_eq!(ran.out.matches("does not load").count(), 1, "{ran:?}");
        assert!(!ran.out.contains("not found;"), "{ran:?}");
        let ran = folder.run(&["plugin", "doctor", "--plugin", file, "--format", "json"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.out.contains("\"state\": \"broken\""), "{ran:?}");
    }
}

#[test]
fn only_a_given_plugin_is_checked() {
    let folder = Folder::new();
    let Some(file) = plugin(&folder, "cpu") else {
        return skip(Need::CpuPlugin, "there is no CPU plugin (`shardc plugin install cpu`)");
    };
    let file = file.as_str();
    let folder_of_plugin = std::path::Path::new(file).parent().unwrap();
    let name = std::path::Path::new(file).file_name().unwrap().to_str().unwrap();
    // A plugin file named without a folder is in the current folder; the search path of the dynamic loader is not used.
    for (dir, named) in [(folder.root(), file), (folder_of_plugin, name)] {
        let ran = folder.command(&["plugin", "doctor", "--plugin", named]).current_dir(dir).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{out}");
        assert!(out.starts_with(&format!("cpu: {named} (named explicitly)\n  C API ")), "{out}");
        assert_eq!(out.lines().count(), 2, "{out}");
    }
}

/// The report is printed first, even if no GPU has enough memory.
#[test]
fn absent_gpus_can_be_compiled_for() {
    let folder = Folder::new();
    if plugin(&folder, "cuda").is_none() {
        let how = "there is no CUDA plugin (`shardc plugin install cuda --compiler-only`)";
        return skip(Need::CudaPlugin, how);
    }
    let target = ["--target", "cuda:h100:2x2", "--mesh", "data=4"];
    let ran = folder.run(&[&["compile", "plain.mlir", "-o", "exe"], &target[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("compiled for cuda:h100:2x2 (4 devices) in "), "{ran:?}");
    assert!(ran.out.contains("device memory             79.1 GiB\n"), "{ran:?}");
    assert_eq!(folder.made(), ["exe"]);
    let large = "func.func @main(%x: tensor<8x1073741824xf32>) -> tensor<8x1073741824xf32> {
      %0 = stablehlo.tanh %x : tensor<8x1073741824xf32>
      return %0 : tensor<8x1073741824xf32>
    }";
    std::fs::write(folder.path("large.mlir"), large).unwrap();
    let arguments = ["compile", "large.mlir", "--mesh", "data=1", "--target"];
    let of = |target: &str| folder.run(&[&arguments[..], &[target]].concat());
    let (small, enough) = (of("cuda:a100-40gb:1"), of("cuda:h100:1"));
    assert_eq!((small.code, enough.code), (Some(1), Some(0)), "{small:?} {enough:?}");
    assert!(small.out.contains("total                     64.0 GiB\n"), "{small:?}");
    let error = "error[RT0503]: the program needs 64.0 GiB on a device, but a device of cuda:a100-40gb:1 has 39.4 GiB";
    assert!(small.err.contains(error), "{small:?}");
}

#[test]
fn an_estimate_can_be_checked_by_a_compiler() {
    let folder = Folder::new();
    let check = ["memory", "plain.mlir", "--mesh", "data=8", "--target", "v5e:2x4", "--check"];
    let missing = folder.run(&[&check[..], &["--plugin", "missing.so"]].concat());
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.err.contains("error[RT0102]") && missing.err.contains("missing.so"), "{missing:?}");
    let grid = folder.run(&["memory", "plain.mlir", "--mesh", "data=8", "--target", "v5e", "--check"]);
    assert_eq!(grid.code, Some(2), "{grid:?}");
    assert!(grid.err.contains("--check needs a kind of device with its grid"), "{grid:?}");
    if plugin(&folder, "tpu").is_none() {
        return skip(Need::TpuPlugin, "there is no TPU plugin (`shardc plugin install tpu`)");
    }
    let checked = folder.run(&check);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("\ncompiler: arguments "), "{checked:?}");
    assert!(checked.out.contains("; the estimate is "), "{checked:?}");
}
