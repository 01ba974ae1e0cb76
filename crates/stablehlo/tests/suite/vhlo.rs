//! Portable artifacts give the same module as in MLIR.
//!
//! `data/vhlo` has artifacts with their text, and the script that made both. Artifacts of StableHLO's tests and of real programs are read
//! if `shared` and Python exist (`SHARDC_SHARED`, `SHARDC_PYTHON`): a sample of the real programs, or all of them with
//! `SHARDC_THOROUGH`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shardc_filetest::sample::is_thorough;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Class, Diagnostic, Module};
use shardc_stablehlo::{PrintOptions, parse, parse_bytecode, print, render};

use crate::inputs::{files, shared};

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/vhlo")
}

fn pretty(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

/// The origin of an artifact's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// Printed by MLIR: must be reproduced byte for byte.
    Printed,
    /// Written by hand.
    Written,
}

/// Returns the difference between an artifact and its text, if any.
fn difference(artifact: &Path, text: &Path, by: Text) -> Option<String> {
    let name = artifact.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = fs::read_to_string(text).expect("a readable text");
    let wanted = match (by, parse(&source)) {
        (Text::Printed, _) => format!("{}\n", source.trim_end()),
        (Text::Written, Ok(module)) => pretty(&module),
        (Text::Written, Err(errors)) => {
            return Some(render(&errors, &text.to_string_lossy(), &source, false));
        }
    };
    let held = match parse_bytecode(&fs::read(artifact).expect("a readable artifact")) {
        Ok(module) => module,
        Err(errors) => return Some(format!("{name}: {}", messages(&errors))),
    };
    let held = pretty(&held);
    let other = held.lines().zip(wanted.lines()).find(|(a, b)| a != b);
    match other {
        Some((a, b)) => Some(format!("{name} holds\n  {a}\ninstead of\n  {b}")),
        None if held != wanted => Some(format!("{name} holds more or less")),
        None => None,
    }
}

fn messages(errors: &[Diagnostic]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn demand(failures: &[String]) {
    assert!(failures.is_empty(), "{}\n\n{} failures", failures.join("\n"), failures.len());
}

#[test]
fn artifacts_of_all_versions_match_their_text() {
    let mut failures = Vec::new();
    let paths = files(&data(), ".bc");
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let program = name.split('.').next().unwrap_or_default();
        failures.extend(difference(path, &data().join(format!("{program}.mlir")), Text::Printed));
    }
    demand(&failures);
    assert_eq!(paths.len(), 8);
}

/// Returns an artifact with `from` replaced by `to`, which has the same length.
fn changed(name: &str, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(data().join(name)).expect("an artifact");
    let at =
        bytes.windows(from.len()).position(|window| window == from.as_bytes()).expect("the text is there");
    bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    bytes
}

fn error(bytes: &[u8]) -> Diagnostic {
    let errors = parse_bytecode(bytes).expect_err("an error");
    assert_eq!(errors.len(), 1, "{}", messages(&errors));
    errors.into_iter().next().expect("one")
}

#[test]
fn an_unknown_operation_version_is_reported() {
    let error = error(&changed("basics.1.17.0.bc", "\0convolution_v1\0", "\0convolution_v9\0"));
    assert_eq!(
        error.message,
        "this portable artifact of StableHLO 1.17.0 has an operation that StableHLO up to 1.20.0 does not define: `vhlo.convolution_v9`"
    );
    assert_eq!(error.class, Class::InvalidInput);
}

#[test]
fn a_newer_artifact_has_a_hint() {
    let mut bytes = changed("basics.1.17.0.bc", "StableHLO_v1.17.0", "StableHLO_v7.17.0");
    assert!(parse_bytecode(&bytes).is_ok(), "its contents are known");
    let from = b"\0convolution_v1\0";
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the name is there");
    bytes[at + from.len() - 2] = b'9';
    let error = error(&bytes);
    assert_eq!(
        error.message,
        "this portable artifact of StableHLO 7.17.0 has an operation that StableHLO up to 1.20.0 does not define: `vhlo.convolution_v9`"
    );
    assert_eq!(error.class, Class::Unsupported);
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("7.17.0") && hint.contains("write it for 1.20.0 or older"), "{hint}");
}

#[test]
fn truncated_artifacts_are_errors() {
    for path in files(&data(), ".bc") {
        let bytes = fs::read(&path).expect("an artifact");
        // Each length takes a different path through the reader. Small files are truncated at every byte.
        let step = if bytes.len() > 2000 { 37 } else { 1 };
        for length in (0..bytes.len()).step_by(step) {
            assert!(parse_bytecode(&bytes[..length]).is_err(), "{} cut at {length}", path.display());
        }
    }
}

#[test]
fn corrupted_artifacts_are_read_or_rejected() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let rounds = if is_thorough() { 20_000 } else { 400 };
    for path in files(&data(), ".bc") {
        let original = fs::read(&path).expect("an artifact");
        for _ in 0..rounds / 8 {
            let mut bytes = original.clone();
            for _ in 0..1 + random() % 3 {
                let at = random() as usize % bytes.len();
                bytes[at] = random() as u8;
            }
            if let Ok(module) = parse_bytecode(&bytes) {
                let _ = pretty(&module);
            }
        }
    }
}

#[test]
fn artifacts_of_stablehlo_tests_match_their_text() {
    let dir = shared().join("conformance/stablehlo/tests/vhlo");
    let paths = files(&dir, ".mlir.bc");
    if paths.is_empty() {
        return skip(Need::Shared, &format!("{} is not there", dir.display()));
    }
    let mut failures = Vec::new();
    for path in paths.iter().filter(|path| !path.to_string_lossy().contains("invalid")) {
        failures.extend(difference(path, &path.with_extension(""), Text::Written));
    }
    demand(&failures);
    let newer = error(&fs::read(dir.join("invalid_vhlo_future.mlir.bc")).expect("an artifact"));
    assert_eq!(newer.class, Class::Unsupported);
    assert!(newer.message.contains("2.0.0") && newer.message.contains("`vhlo.constant_v99`"), "{newer}");
}

/// Runs `artifacts.py` and compares its output; returns the number of artifacts.
fn made(folder: &str, arguments: &[String]) -> Option<usize> {
    let Some(python) = std::env::var_os("SHARDC_PYTHON") else {
        skip(Need::Python, "SHARDC_PYTHON names no Python with JAX");
        return None;
    };
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("a new folder");
    let run = Command::new(python)
        .arg(data().join("artifacts.py"))
        .arg(&out)
        .args(arguments)
        .env("JAX_PLATFORMS", "cpu")
        .output()
        .expect("Python runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut failures = Vec::new();
    let artifacts = files(&out, ".bc");
    for artifact in &artifacts {
        failures.extend(difference(artifact, &artifact.with_extension("mlir"), Text::Printed));
    }
    demand(&failures);
    Some(artifacts.len())
}

#[test]
fn artifacts_of_real_programs_match_jaxlib() {
    let dir = shared().join("corpus");
    let mut programs = files(&dir.join("jax"), ".mlir");
    programs.extend(files(&dir.join("torch_xla"), ".mlir"));
    if programs.is_empty() {
        return skip(Need::Shared, &format!("{} is not there", dir.display()));
    }
    if !is_thorough() {
        let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() < 50_000);
        programs = programs.into_iter().filter(small).step_by(10).collect();
    }
    let mut arguments = vec!["corpus".to_owned()];
    arguments.extend(programs.iter().map(|path| path.to_string_lossy().into_owned()));
    arguments.extend(["--", "1.0.0", "1.9.0", "1.17.0"].map(str::to_owned));
    if let Some(count) = made("artifacts-corpus", &arguments) {
        eprintln!("{count} artifacts of {} programs match jaxlib", programs.len());
        assert!(count >= programs.len() * 4, "only {count} artifacts of {} programs", programs.len());
    }
}

#[test]
fn jax_exports_match_jaxlib() {
    if let Some(count) = made("artifacts-export", &["export".to_owned()]) {
        assert_eq!(count, 9);
    }
}
