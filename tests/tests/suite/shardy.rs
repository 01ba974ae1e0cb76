//! A sample of Shardy's own tests, function by function; `cargo xtask conformance shardy` runs them all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_tests::{
    filetest::FileTest,
    functions, program, shared,
    skip::{Need, skip},
};

/// Files in which every function passes.
const SAMPLE: [&str; 5] = [
    "ir/test/sharding_rule_parse_print.mlir",
    "transforms/import/test/remove_size_one_axes.mlir",
    "transforms/propagation/test/basic_propagation_manual_computation.mlir",
    "transforms/propagation/test/basic_propagation_token.mlir",
    "transforms/export/test/close_shardings.mlir",
];

#[test]
fn the_sample_passes() {
    let Some(root) = shared().map(|dir| dir.join("conformance/shardy")).filter(|dir| dir.is_dir()) else {
        return skip(Need::Shared, &format!("{} files of Shardy's tests, which are not here", SAMPLE.len()));
    };
    let scratch = tempfile::tempdir().unwrap();
    let path = program::search_path(&scratch.path().join("bin"), &program::shardc().unwrap(), &["sdy_opt"]);
    let path = path.unwrap();
    for name in SAMPLE {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        let test = FileTest::parse(&text).unwrap();
        let functions = functions::run(&text, &test, scratch.path(), &path).unwrap();
        assert!(!functions.is_empty(), "{name} has no functions");
        for function in functions {
            assert_eq!(function.outcome, Ok(()), "{name}#{}", function.name);
        }
    }
}
