//! The system dependencies of a shardc build.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use shardc_tests::root;

/// The `name`s that `cargo tree` lists for a package with its default features.
fn dependencies(package: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "tree",
        "--offline",
        "--prefix",
        "none",
        "--edges",
        "normal,build",
        "--format",
        "{lib}",
        "--package",
    ]);
    let output = command.arg(package).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn default_features_need_no_llvm() {
    for package in ["shardc", "shardc-cli", "shardc-graph", "shardc-shardy"] {
        let all = dependencies(package);
        assert!(all.iter().any(|name| name == "shardc_ir"), "{package}: {all:?}");
        let llvm: Vec<_> =
            all.iter().filter(|name| matches!(&***name, "mlir_sys" | "melior" | "shardc_mlir")).collect();
        assert!(llvm.is_empty(), "{package} needs LLVM: {llvm:?}");
    }
}
