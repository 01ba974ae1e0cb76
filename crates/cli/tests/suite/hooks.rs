//! The script of the pre-commit hooks and of the GitHub action (`ci/check.sh`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::Folder;

const PROGRAM: &str = r#"sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
"#;

/// Runs the script in a folder, with the program under test first in the `PATH`.
fn check(folder: &Folder, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/check.sh");
    let program = Path::new(env!("CARGO_BIN_EXE_shardc")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    Command::new(script).args(arguments).env("PATH", path).current_dir(folder.root()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn lint_checks_all_files_and_passes_options() {
    let folder = Folder::new();
    fs::write(folder.path("a.mlir"), PROGRAM.replace("\"data\"=4", "\"data\"=4, \"model\"=2")).unwrap();
    fs::write(folder.path("b.mlir"), PROGRAM).unwrap();
    assert!(check(&folder, &["lint", "a.mlir", "b.mlir"]).status.success());
    let denied = check(&folder, &["lint", "--deny", "unused-mesh-axis", "a.mlir", "b.mlir"]);
    assert_eq!(denied.status.code(), Some(1), "{}", text(&denied));
    assert!(text(&denied).contains("unused-mesh-axis"), "{}", text(&denied));
}

#[test]
fn a_pattern_that_matches_no_file_is_an_error() {
    let ran = check(&Folder::new(), &["lint", "models/*.mlir"]);
    assert_eq!(ran.status.code(), Some(2), "{}", text(&ran));
    assert!(text(&ran).contains("none of the arguments is a file: models/*.mlir"), "{}", text(&ran));
}

#[test]
fn diff_compares_programs_with_the_snapshots_beside_them() {
    let folder = Folder::new();
    fs::write(folder.path("step.mlir"), PROGRAM).unwrap();
    let missing = check(&folder, &["diff", "step.mlir"]);
    assert!(missing.status.success() && text(&missing).contains("no snapshot"), "{}", text(&missing));
    fs::write(folder.path("step.snapshot"), folder.run(&["snapshot", "step.mlir"]).out).unwrap();
    assert!(check(&folder, &["diff", "step.mlir"]).status.success());
    fs::write(
        folder.path("step.mlir"),
        PROGRAM.replace("64x32", "64x64").replace("tensor<32xf32>", "tensor<64xf32>"),
    )
    .unwrap();
    let grown = check(&folder, &["diff", "step.mlir"]);
    assert_eq!(grown.status.code(), Some(1), "{}", text(&grown));
    assert!(check(&folder, &["diff", "--threshold", "200%", "step.mlir"]).status.success());
}

#[test]
fn the_action_and_the_hooks_run_the_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    for (file, count) in [("action.yml", 2), (".pre-commit-hooks.yaml", 2)] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert_eq!(text.matches("crates/cli/ci/check.sh").count(), count, "{file}");
    }
}
