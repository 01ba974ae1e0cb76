//! Bytecode and portable artifacts that shardc writes: shardc reads the same module, and jaxlib reads the same program.
//!
//! The files that MLIR wrote (`data/bytecode`, `data/vhlo`) are written again, byte for byte. Programs of the repository and of `shared` are
//! written in several versions and compared by jaxlib (`data/vhlo/written.py`, needs `SHARDC_PYTHON`): a sample, or all of them with
//! `SHARDC_THOROUGH`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shardc_filetest::sample::is_thorough;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Class, Diagnostic, Module};
use shardc_stablehlo::{
    BytecodeOptions, PrintForm, PrintOptions, Properties, Version, parse, parse_bytecode, print, to_artifact,
    to_bytecode,
};

use crate::inputs::{files, shared};

/// The versions of StableHLO for which artifacts are written: the oldest, the newest of jaxlib, and versions between them.
const TARGETS: [&str; 7] = ["0.9.0", "0.14.0", "1.0.0", "1.4.0", "1.8.0", "1.10.0", "1.17.0"];

/// Programs that have another form after bytecode: the generic form keeps the name of a terminator of another dialect.
const OTHER_SPELLING: [&str; 1] = ["async_calls.mlir"];

fn data(folder: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder)
}

/// Prints all that a module has.
fn generic(module: &Module) -> String {
    let form = PrintForm::Generic;
    print(module, &PrintOptions { form, locations: true, ..PrintOptions::default() })
}

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

fn read(bytes: &[u8], name: &str) -> Module {
    parse_bytecode(bytes).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]))
}

/// Returns the paths of the programs below a folder.
fn below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "mlir"));
    paths.extend(folders.iter().flat_map(|folder| below(folder)));
    paths
}

/// Returns programs of the repository and of `shared`, with their paths: a sample, or all. Files that are not one valid program are left
/// out.
fn programs() -> Vec<(PathBuf, Module)> {
    let mut paths = below(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests"));
    paths.extend(below(&shared().join("corpus")));
    if !is_thorough() {
        paths.retain(|path| fs::metadata(path).is_ok_and(|file| file.len() < 50_000));
    }
    let module = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        Some((path, parse(&text).ok()?))
    };
    let all: Vec<_> = paths.into_iter().filter_map(module).collect();
    assert!(all.len() > 500, "only {} programs", all.len());
    if is_thorough() { all } else { all.into_iter().step_by(8).collect() }
}

fn is_unsupported(error: &Diagnostic) -> bool {
    error.code == "SH0125" && error.class == Class::Unsupported && error.hint.is_some()
}

#[test]
fn programs_are_read_back() {
    let programs = programs();
    let (mut failures, mut unsupported) = (Vec::new(), 0);
    for (path, module) in &programs {
        let name = path.to_string_lossy();
        let wanted = generic(module);
        for (version, properties) in [
            (6, Properties::Named),
            (6, Properties::Ordered),
            (5, Properties::Ordered),
            (2, Properties::Named),
        ] {
            let options = BytecodeOptions { version, properties, locations: true };
            match to_bytecode(module, &options) {
                Ok(bytes) => {
                    let held = generic(&read(&bytes, &name));
                    if held != wanted && !OTHER_SPELLING.iter().any(|other| name.ends_with(other)) {
                        let line = held.lines().zip(wanted.lines()).find(|(a, b)| a != b);
                        failures.push(format!("{name}, version {version}: {line:?}"));
                    }
                }
                Err(error) if is_unsupported(&error) => unsupported += 1,
                Err(error) => failures.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // Operations in the syntax of their dialect, and reductions that Shardy does not have.
    assert!(unsupported <= 4 * 8, "{unsupported} failures");
}

#[test]
fn artifacts_of_all_versions_hold_the_same_program() {
    let programs = programs();
    let (mut failures, mut written) = (Vec::new(), 0);
    for (path, module) in &programs {
        let name = path.to_string_lossy();
        let Ok(newest) = to_artifact(module, Version::NEWEST, true) else { continue };
        let wanted = generic(&read(&newest, &name));
        for target in TARGETS {
            match to_artifact(module, version(target), true) {
                Ok(bytes) => {
                    written += 1;
                    if generic(&read(&bytes, &name)) != wanted {
                        failures.push(format!("{name}: the artifact of {target} differs"));
                    }
                }
                Err(error) if is_unsupported(&error) => {}
                Err(error) => failures.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(written > programs.len() * 5, "only {written} artifacts of {} programs", programs.len());
}

/// Returns the bytes of a file without the name of its writer.
fn without_producer(bytes: &[u8]) -> Vec<u8> {
    let name = bytes.get(5..).unwrap_or(&[]);
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    [bytes.get(..5).unwrap_or(&[]), name.get(end..).unwrap_or(&[])].concat()
}

/// Returns the number in a name such as `locations.v4.mlirbc`.
fn format_version(path: &Path) -> u8 {
    let name = path.to_string_lossy();
    let number = name.strip_suffix(".mlirbc").and_then(|name| name.rsplit_once(".v"));
    number.and_then(|(_, number)| number.parse().ok()).expect("a version")
}

/// Files with operations that are kept as text, without locations; files whose writer had an older version of a dialect, in which an
/// operation has fewer attributes; and files with data whose padding depends on the length of the writer's name.
const OTHER_BYTES: [&str; 5] = ["kept", "operations", "quantized", "resources", "shardings"];

#[test]
fn files_of_mlir_are_written_again() {
    let mut failures = Vec::new();
    let paths = files(&data("bytecode"), ".mlirbc");
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(path).expect("a readable file");
        let version = format_version(path);
        let options = BytecodeOptions { version, properties: Properties::Ordered, locations: true };
        let module = read(&bytes, &name);
        match to_bytecode(&module, &options) {
            Ok(written) if without_producer(&written) == without_producer(&bytes) => {}
            Ok(written) if generic(&read(&written, &name)) == generic(&module) => {
                if OTHER_BYTES.iter().any(|other| name.starts_with(other)) {
                    continue;
                }
                failures.push(format!("{name}: {} bytes, not {}", written.len(), bytes.len()));
            }
            Ok(_) => failures.push(format!("{name} holds another program")),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(paths.len() >= 20, "only {} files", paths.len());
}

#[test]
fn errors_give_the_operation_and_a_version() {
    let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.tan %x : tensor<4xf32> loc(\"model.py\":3:5)\n  return %0 : tensor<4xf32>\n}";
    let module = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let error = to_artifact(&module, version("1.3.0"), true).expect_err("an error");
    assert!(is_unsupported(&error), "{error}");
    assert_eq!(error.message, "StableHLO 1.3.0 has no operation `tan`");
    assert_eq!(error.hint.as_deref(), Some("write the artifact for 1.4.0 or a newer version"));
    assert_eq!(error.user_loc.as_deref(), Some("model.py:3:5"));
    assert!(to_artifact(&module, version("1.4.7"), true).is_ok());

    let text =
        "func.func @main(%x: tensor<4xf8E3M4>) -> tensor<4xf8E3M4> {\n  return %x : tensor<4xf8E3M4>\n}";
    let module = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let error = to_artifact(&module, version("1.6.0"), true).expect_err("an error");
    assert_eq!(error.message, "StableHLO 1.6.0 has no type f8E3M4");

    for target in ["0.8.0", "1.21.0", "2.0.0"] {
        let error = to_artifact(&module, version(target), true).expect_err("an error");
        assert_eq!((error.code, error.class), ("SH0122", Class::Unsupported));
        assert_eq!(error.hint.as_deref(), Some("choose a version from 0.9.0 to 1.20.0"));
    }
    for text in ["", "1.9", "1.9.0.0", "1..0", "a.b.c", "+1.0.0"] {
        assert!(text.parse::<Version>().is_err(), "{text}");
    }
}

/// The reader of bytecode prints a sparse constant without elements as the parser reads it.
#[test]
fn an_empty_sparse_constant_is_read_back() {
    let text = "func.func @f() {\n  %0 = stablehlo.constant sparse<> : tensor<2x2xi32>\n  return\n}";
    let module = parse(text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let bytes = to_bytecode(&module, &BytecodeOptions::default()).expect("bytecode");
    assert_eq!(generic(&read(&bytes, "sparse")), generic(&module));
}

/// Writes programs in several versions, and compares them in Python.
#[test]
fn jaxlib_reads_the_same_programs() {
    let Some(python) = std::env::var_os("SHARDC_PYTHON") else {
        return skip(Need::Python, "SHARDC_PYTHON names no Python with jaxlib");
    };
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("written");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("a new folder");
    let programs = programs();
    let mut written = 0;
    for (number, (_, module)) in programs.iter().enumerate() {
        let base = out.join(format!("{number:04}"));
        fs::write(base.with_extension("mlir"), generic(module)).expect("a written file");
        for target in TARGETS {
            match to_artifact(module, version(target), true) {
                Ok(bytes) => fs::write(base.with_extension(format!("{target}.bc")), bytes),
                Err(error) if error.message.starts_with("StableHLO ") => {
                    fs::write(base.with_extension(format!("{target}.error")), error.to_string())
                }
                // The program has operations that are kept as text.
                Err(_) => continue,
            }
            .expect("a written file");
            written += 1;
        }
        for version in [6, 2, 0] {
            let options = BytecodeOptions { version, ..BytecodeOptions::default() };
            if let Ok(bytes) = to_bytecode(module, &options) {
                fs::write(base.with_extension(format!("{version}.mlirbc")), bytes).expect("a written file");
                written += 1;
            }
        }
    }
    let script = data("vhlo").join("written.py");
    let run =
        Command::new(python).arg(script).arg(&out).env("JAX_PLATFORMS", "cpu").output().expect("Python runs");
    let printed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{printed}\n{}", String::from_utf8_lossy(&run.stderr));
    eprintln!(
        "{written} files of {} programs: {}",
        programs.len(),
        printed.lines().last().unwrap_or_default()
    );
}
