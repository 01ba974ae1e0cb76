//! Real programs from `shared/corpus`, if present: each prints unchanged, and its generic form parses to the same program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::PathBuf;

use shardc_filetest::skip::{Need, skip};
use shardc_stablehlo::{PrintForm, PrintOptions, parse, print, render};

use crate::inputs::shared;

/// Returns the text as current MLIR prints it: an older version printed two spaces after `compare`.
fn modern(text: &str) -> String {
    text.replace("stablehlo.compare  ", "stablehlo.compare ")
}

fn check(folder: &str, at_least: usize) {
    let dir = shared().join("corpus").join(folder);
    let Ok(entries) = fs::read_dir(&dir) else {
        return skip(Need::Shared, &format!("{} is not there", dir.display()));
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "mlir"));
    paths.sort();
    let mut failures = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).expect("a readable file");
        let read = |text: &str| match parse(text) {
            Ok(module) => module,
            Err(errors) => panic!("{}", render(&errors, &path.to_string_lossy(), text, false)),
        };
        let module = read(&text);
        let pretty = PrintOptions { locations: text.contains("loc("), ..PrintOptions::default() };
        let printed = print(&module, &pretty);
        if printed != modern(&text) {
            failures.push(format!("{}: does not come out as it was", path.display()));
        }
        let generic = print(&module, &PrintOptions { form: PrintForm::Generic, ..pretty });
        if print(&read(&generic), &pretty) != printed {
            failures.push(format!("{}: its generic form does not round-trip", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(paths.len() >= at_least, "only {} programs in {}", paths.len(), dir.display());
}

#[test]
fn jax_programs_round_trip() {
    check("jax", 150);
}

#[test]
fn torch_xla_programs_round_trip() {
    check("torch_xla", 50);
}
