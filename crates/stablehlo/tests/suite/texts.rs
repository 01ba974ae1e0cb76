//! Small programs printed by MLIR, one file per subject under `tests/data`. Each `x.mlir` prints unchanged; its generic form is
//! `x.generic.mlir`, which parses to the same program. (`locations.mlir` has no generic file: MLIR's generic form shows more source
//! locations than its pretty form.)

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use shardc_ir::Module;
use shardc_stablehlo::{PrintForm, PrintOptions, parse, print, render};

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .expect("tests/data is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".mlir"))
        .filter(|path| !path.to_string_lossy().ends_with(".generic.mlir"))
        .collect();
    files.sort();
    files
}

fn generic_files() -> Vec<PathBuf> {
    let mut files = files();
    files.retain(|path| !path.ends_with("locations.mlir"));
    files
}

fn read(path: &Path) -> (String, Module) {
    let text = fs::read_to_string(path).expect("a readable file");
    match parse(&text) {
        Ok(module) => (text, module),
        Err(errors) => panic!("{}", render(&errors, &path.to_string_lossy(), &text, false)),
    }
}

fn options(text: &str, form: PrintForm) -> PrintOptions {
    PrintOptions { form, locations: text.contains("loc("), ..PrintOptions::default() }
}

fn check(path: &Path, expected: &str, actual: &str) {
    for (i, (a, b)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(a, b, "{}, line {}", path.display(), i + 1);
    }
    assert!(expected == actual, "{}: the lengths differ", path.display());
}

#[test]
fn pretty_text_round_trips() {
    assert!(files().len() >= 6);
    for path in files() {
        let (text, module) = read(&path);
        check(&path, &text, &print(&module, &options(&text, PrintForm::Pretty)));
    }
}

#[test]
fn generic_text_matches_mlir() {
    for path in generic_files() {
        let generic = path.with_extension("generic.mlir");
        let (pretty, module) = read(&path);
        let expected = fs::read_to_string(&generic).expect("a generic form for each pretty one");
        check(&generic, &expected, &print(&module, &options(&pretty, PrintForm::Generic)));
    }
}

#[test]
fn generic_text_round_trips() {
    for path in generic_files() {
        let (pretty, _) = read(&path);
        let (generic, module) = read(&path.with_extension("generic.mlir"));
        check(&path, &pretty, &print(&module, &options(&pretty, PrintForm::Pretty)));
        check(&path, &generic, &print(&module, &options(&generic, PrintForm::Generic)));
    }
}

#[test]
fn text_without_properties_round_trips() {
    for path in files() {
        let (pretty, module) = read(&path);
        let old = print(&module, &options(&pretty, PrintForm::GenericAttributes));
        let without_properties =
            old.lines().all(|line| !line.contains("\"stablehlo.") || !line.contains("<{"));
        assert!(without_properties, "{}", path.display());
        let again = parse(&old)
            .unwrap_or_else(|errors| panic!("{}", render(&errors, &path.to_string_lossy(), &old, false)));
        check(&path, &pretty, &print(&again, &options(&pretty, PrintForm::Pretty)));
    }
}
