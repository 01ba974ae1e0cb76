//! Checks that the names of attributes that shardc interprets occur in only one file. Code that reads or writes these attributes uses
//! `shardc_ir::discardable`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use shardc_ir::discardable::{
    ALIASING_OUTPUT, ARG_INFO, BUFFER_DONOR, FRONTEND_ATTRIBUTES, GSPMD_SHARDING, MEMORY_KIND,
    NUM_PARTITIONS, NUM_REPLICAS, RESULT_INFO, SHARDING, SHARDING_RULE,
};

const NAMES: &[&str] = &[
    ALIASING_OUTPUT,
    ARG_INFO,
    BUFFER_DONOR,
    FRONTEND_ATTRIBUTES,
    GSPMD_SHARDING,
    MEMORY_KIND,
    NUM_PARTITIONS,
    NUM_REPLICAS,
    RESULT_INFO,
    SHARDING,
    SHARDING_RULE,
];

/// The only file that may contain the attribute names.
const HOME: &str = "ir/src/discardable.rs";

#[test]
fn attribute_names_are_defined_in_one_file() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in crates/");
    let root = crates.parent().expect("crates/ is in the workspace");
    let mut folders: Vec<PathBuf> = ["ir", "passes", "passes/analysis", "passes/cost", "runtime"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    folders.extend(fs::read_dir(crates).expect("crates/ can be read").flatten().map(|entry| entry.path()));
    let mut files = Vec::new();
    for folder in folders {
        sources(&folder.join("src"), &mut files);
    }
    assert!(files.len() > 100, "{files:?}");
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with(HOME)) {
        let text = fs::read_to_string(file).expect("a source can be read");
        // Unit tests may contain the names.
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if NAMES.iter().any(|name| line.contains(&format!("\"{name}\""))) {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use the names and accessors of {HOME}:\n{}", found.join("\n"));
}

/// Source files below a folder, without tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}
