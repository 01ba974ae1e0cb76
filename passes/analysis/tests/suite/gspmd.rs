//! GSPMD annotations of real programs: parsed, printed, and parsed again.
//!
//! The programs are in `shared/corpus` next to the checkout, or in the folder that `SHARDC_SHARED` names. Without them, the tests report
//! that they are skipped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use shardc_analysis::gspmd::{export_gspmd, import_gspmd, is_annotated};
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Module, verify};
use shardc_stablehlo::{PrintOptions, parse, print};

/// The maximum size of a tested program: larger programs have no additional features, and take long in a debug build.
const MAX_BYTES: u64 = 200_000;

fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("SHARDC_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if !corpus.is_dir() {
        skip(Need::Shared, &format!("{} does not exist", corpus.display()));
        return None;
    }
    Some(corpus)
}

fn programs(corpus: &Path) -> Vec<(String, Module)> {
    let mut out = Vec::new();
    for folder in ["jax", "torch_xla"] {
        let Ok(entries) = std::fs::read_dir(corpus.join(folder)) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|p| p.extension().is_some_and(|e| e == "mlir")) {
            if std::fs::metadata(&path).map_or(0, |m| m.len()) > MAX_BYTES {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            match parse(&text) {
                Ok(module) => out.push((path.file_name().unwrap().to_string_lossy().into_owned(), module)),
                Err(errors) => panic!("{}: {}", path.display(), errors[0]),
            }
        }
    }
    out
}

fn text(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

fn imported(name: &str, module: &mut Module) {
    if let Err(errors) = import_gspmd(module, None) {
        panic!("{name}: {}", errors[0]);
    }
    if let Err(errors) = verify(module) {
        panic!("{name}: {}", errors[0]);
    }
    assert!(!is_annotated(module), "{name}: an annotation is left");
}

fn read_and_written(name: &str, source: &str) -> String {
    let mut module = parse(source).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
    imported(name, &mut module);
    export_gspmd(&mut module).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
    text(&module)
}

/// Returns every sharding in a text, sorted.
fn shardings(text: &str) -> Vec<&str> {
    let mut out: Vec<&str> =
        text.split("mhlo.sharding = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    out.sort_unstable();
    out
}

#[test]
fn annotated_programs_are_read_and_written() {
    let Some(corpus) = corpus() else { return };
    let mut annotated = 0;
    for (name, mut module) in programs(&corpus) {
        let was_annotated = is_annotated(&module);
        annotated += usize::from(was_annotated);
        if was_annotated {
            imported(&name, &mut module);
        }
        // Programs that cannot be exported are skipped. For all others, the printed annotations must be equal after parsing and printing
        // again.
        if export_gspmd(&mut module).is_err() {
            continue;
        }
        verify(&module).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        let first = text(&module);
        let second = read_and_written(&name, &first);
        if first.contains("@SPMDFullToShardShape") {
            // Sorted shardings are compared, since printing may change the order of operations and removes constraints that have no effect.
            assert_eq!(shardings(&second), shardings(&read_and_written(&name, &second)), "{name}");
        } else {
            let differ = first.lines().zip(second.lines()).find(|(a, b)| a != b);
            assert!(differ.is_none() && first.len() == second.len(), "{name}: {differ:?}");
        }
    }
    assert!(annotated > 50, "only {annotated} annotated programs");
}
