//! Checks the crates that `shardc` without features depends on, because front ends compile them.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use shardc_filetest::program::cargo;

/// The maximum number of crates in the dependency tree, including `shardc`.
const MOST: usize = 45;

/// Crates that must not be in the dependency tree: they compile C, open connections, unpack archives, or belong to optional features.
const ABSENT: &[&str] = &[
    "bindgen",
    "cc",
    "cmake",
    "flate2",
    "libloading",
    "melior",
    "mlir-sys",
    "object_store",
    "openssl-sys",
    "prost",
    "reqwest",
    "ring",
    "rustls",
    "saphyr",
    "safetensors",
    "shardc-autodiff",
    "shardc-checkpoint",
    "shardc-graph",
    "shardc-runtime",
    "shardc-strategy",
    "tokio",
    "toml",
    "ureq",
    "zarrs",
    "zip",
    "zstd-sys",
];

/// The crates in the dependency tree of `shardc` on Linux, if the features are selected by the cargo arguments `features`.
fn tree(features: &[&str]) -> BTreeSet<String> {
    let mut command = cargo();
    command.args(["tree", "--offline", "--package", "shardc", "--prefix", "none", "--format", "{p}"]);
    command.args(["--edges", "normal,build", "--target", "x86_64-unknown-linux-gnu"]).args(features);
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    // The line of a crate that is listed again ends with `(*)`.
    text.lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn name(package: &str) -> &str {
    package.split(' ').next().unwrap_or_default()
}

#[test]
fn without_features_the_library_has_few_crates_and_no_c() {
    let crates = tree(&["--no-default-features"]);
    assert!(crates.iter().any(|package| name(package) == "shardc-passes"), "{crates:?}");
    assert!(crates.len() <= MOST, "{} crates: {crates:#?}", crates.len());
    let unwanted: Vec<&String> = crates
        .iter()
        .filter(|package| ABSENT.contains(&name(package)) || name(package).ends_with("-sys"))
        .collect();
    assert!(unwanted.is_empty(), "{unwanted:?}");
}

/// Checks that names in [`ABSENT`] are names of real packages, by finding some of them among the dependencies of the default features.
#[test]
fn default_features_add_optional_packages() {
    let crates = tree(&[]);
    for expected in ["cc", "ring", "shardc-strategy", "tokio", "toml", "ureq", "zip"] {
        assert!(crates.iter().any(|package| name(package) == expected), "{expected}: {crates:#?}");
    }
}
