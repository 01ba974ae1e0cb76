//! MLIR bytecode: bytecode and text give the same module.
//!
//! `data/bytecode` contains bytecode, the text that MLIR prints for it, and the script that made both. Real programs are converted to
//! bytecode if `shared` and a Python with jaxlib exist (`SHARDC_SHARED`, `SHARDC_PYTHON`): a sample, or all of them in several versions
//! with `SHARDC_THOROUGH`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shardc_filetest::sample::is_thorough;
use shardc_filetest::skip::{Need, skip};
use shardc_ir::{Class, Diagnostic, Module};
use shardc_stablehlo::{
    PrintForm, PrintOptions, is_bytecode, parse, parse_bytecode, print, properties, render,
};

use crate::inputs::{files, shared};

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/bytecode")
}

fn rendered(errors: &[Diagnostic]) -> String {
    render(errors, "FILE", "", false)
}

/// The text of `name.v6.mlirbc` is `name.mlir`.
fn text_of(bytecode: &Path) -> PathBuf {
    bytecode.with_extension("").with_extension("mlir")
}

/// Returns the difference between a bytecode file and its text, if any.
fn difference(bytecode: &Path) -> Option<String> {
    let name = bytecode.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source = fs::read_to_string(text_of(bytecode)).expect("the text of the file");
    let wanted = match parse(&source) {
        Ok(module) => module,
        Err(errors) => return Some(format!("{name}: {}", render(&errors, "its text", &source, false))),
    };
    let held = match parse_bytecode(&fs::read(bytecode).expect("a readable file")) {
        Ok(module) => module,
        Err(errors) => return Some(format!("{name}: {}", rendered(&errors))),
    };
    // The pretty form omits the regions of some operations, with their locations.
    for (form, locations) in [(PrintForm::Pretty, source.contains("loc(")), (PrintForm::Generic, false)] {
        let options = PrintOptions { form, locations, ..PrintOptions::default() };
        let (held, wanted) = (print(&held, &options), print(&wanted, &options));
        if held != wanted {
            let mut lines = held.lines().zip(wanted.lines());
            let (held, wanted) = lines.find(|(a, b)| a != b).unwrap_or(("more or less", ""));
            return Some(format!("{name} holds\n  {held}\ninstead of\n  {wanted}"));
        }
    }
    None
}

fn demand(failures: &[String]) {
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn bytecode_and_text_give_the_same_module() {
    let mut paths = files(&data(), ".mlirbc");
    // Code that a module keeps as text is in generic form if it comes from bytecode.
    paths.retain(|path| !path.to_string_lossy().contains("kept."));
    assert!(paths.len() >= 20, "only {} files", paths.len());
    let failures: Vec<String> = paths.iter().filter_map(|path| difference(path)).collect();
    demand(&failures);
}

#[test]
fn kept_text_is_in_generic_form() {
    for path in files(&data(), ".mlirbc").iter().filter(|path| path.to_string_lossy().contains("kept.")) {
        let module = parse_bytecode(&fs::read(path).expect("a readable file"))
            .unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
        let text = print(&module, &PrintOptions::default());
        insta::assert_snapshot!("kept", text);
        let again =
            parse(&text).unwrap_or_else(|errors| panic!("{}", render(&errors, "itself", &text, false)));
        assert_eq!(print(&again, &PrintOptions::default()), text);
    }
}

/// Accesses everything in a module, as its users do.
fn use_all(module: &Module) {
    let options = PrintOptions { locations: true, ..PrintOptions::default() };
    let _ = print(module, &options);
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        let _ = properties(module, op);
    }
}

#[test]
fn truncated_files_are_errors() {
    for path in files(&data(), ".mlirbc") {
        let bytes = fs::read(&path).expect("a readable file");
        for end in 0..bytes.len() {
            let part = bytes.get(..end).expect("a prefix");
            let errors = parse_bytecode(part).err().unwrap_or_default();
            let name = path.display();
            assert!(!errors.is_empty(), "the first {end} bytes of {name} are accepted");
            for error in &errors {
                assert_ne!(error.class, Class::Internal, "{name}, {end} bytes: {error}");
            }
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    for path in files(&data(), ".v6.mlirbc") {
        let bytes = fs::read(&path).expect("a readable file");
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for value in [bytes[at] ^ 1, bytes[at].wrapping_add(2)] {
                damaged[at] = value;
                match parse_bytecode(&damaged) {
                    Ok(module) => use_all(&module),
                    Err(errors) => assert!(!errors.is_empty()),
                }
            }
            damaged[at] = bytes[at];
        }
    }
}

/// A damaged file is rejected, or its module is valid and prints as text that parses to the same module.
#[test]
fn modules_of_damaged_files_print_and_parse() {
    let mut failures = Vec::new();
    for path in files(&data(), ".v6.mlirbc") {
        if !["kept.", "unknown."].iter().any(|name| path.to_string_lossy().contains(name)) {
            continue;
        }
        let bytes = fs::read(&path).expect("a readable file");
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for value in [bytes[at] ^ 1, bytes[at].wrapping_add(2), b'"', b'(', b'\n', 0xDA] {
                damaged[at] = value;
                let Ok(module) = parse_bytecode(&damaged) else { continue };
                if shardc_ir::verify(&module).is_err() {
                    continue;
                }
                for form in [PrintForm::Pretty, PrintForm::Generic] {
                    let options = PrintOptions { form, ..PrintOptions::default() };
                    let text = print(&module, &options);
                    let place = format!("{}, byte {at} is {value}, {form:?}", path.display());
                    match parse(&text) {
                        Err(errors) => {
                            failures.push(format!("{place}: {}", render(&errors, "itself", &text, false)));
                        }
                        Ok(again) if print(&again, &options) != text => {
                            let twice = print(&again, &options);
                            let line = text.lines().zip(twice.lines()).find(|(a, b)| a != b);
                            failures.push(format!("{place}: another program {line:?}"));
                        }
                        Ok(_) => {}
                    }
                }
            }
            damaged[at] = bytes[at];
        }
    }
    failures.truncate(40);
    demand(&failures);
}

/// A module with two names is rejected, even if one of them is not a string.
#[test]
fn a_module_has_one_name() {
    let error = |text: &str| {
        let errors = parse(text).err().unwrap_or_default();
        errors.first().map(ToString::to_string).unwrap_or_default()
    };
    let twice = "the attribute `sym_name` is given twice";
    assert!(error("module @a attributes {sym_name = \"b\"} {}").contains(twice));
    assert!(
        error("\"builtin.module\"() <{sym_name = \"a\"}> ({}) {sym_name = 1 : i32} : () -> ()")
            .contains(twice)
    );
    let module = parse("module attributes {sym_name = \"b\"} {}")
        .unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    assert!(print(&module, &PrintOptions::default()).starts_with("module @b {"));
}

/// Each symbol outside the program is unique, as in text.
#[test]
fn symbols_outside_the_program_are_unique() {
    let mut bytes = fs::read(data().join("kept.v6.mlirbc")).expect("a readable file");
    // Renames the attribute `x.a = "above"` to `sym_name`, and a sibling module to @above.
    for (at, value) in [(208, 17), (372, 43), (594, 35)] {
        bytes[at] = value;
    }
    let error = error(&bytes);
    assert_eq!((error.code, &*error.message), ("SH0103", "the symbol @above is defined twice"));
}

/// Modules without functions are kept unchanged, whatever their names begin with.
#[test]
fn a_module_without_functions_is_not_the_program() {
    let kept = "\"builtin.module\"() <{sym_name = \"f\"}> ({\n    \"func.return\"() : () -> ()\n  }) {function_type = () -> ()} : () -> ()";
    let text = format!("module {{\n  {kept}\n}}\n");
    let module = parse(&text).unwrap_or_else(|errors| panic!("{}", render(&errors, "itself", &text, false)));
    assert!(module.enclosing.is_empty());
    assert_eq!(print(&module, &PrintOptions::default()), text);
    let text = "module {\n  module @f {\n    func.func private @g()\n  }\n}\n";
    let module = parse(text).unwrap_or_else(|errors| panic!("{}", render(&errors, "itself", text, false)));
    assert_eq!(module.enclosing.len(), 1);
}

fn error(bytes: &[u8]) -> Diagnostic {
    parse_bytecode(bytes).expect_err("an error").swap_remove(0)
}

#[test]
fn errors_give_offset_and_reason() {
    let file = fs::read(data().join("shardings.v6.mlirbc")).expect("a readable file");
    assert!(is_bytecode(&file) && !is_bytecode(b"module {}"));

    let newer = error(b"ML\xEFR\x0Fx\0");
    assert_eq!((newer.code, newer.class), ("SH0122", Class::Unsupported));
    assert!(newer.message.contains("version 7") && newer.message.contains("0 to 6"), "{newer}");

    let text = error(b"module {}");
    assert_eq!(text.code, "SH0120");
    assert!(text.message.contains("at byte 0") && text.message.contains("ML\\xEFR"), "{text}");

    let short = error(file.get(..file.len() - 3).expect("a prefix"));
    assert_eq!(short.code, "SH0121");
    assert!(short.message.contains("expected") && short.message.contains("at byte"), "{short}");

    let empty = error(b"ML\xEFR\x0Dx\0");
    assert_eq!(empty.code, "SH0121");
    assert!(empty.message.contains("without a string section"), "{empty}");

    let mut wrong = file.clone();
    wrong.extend_from_slice(&[0x09, 0x01]);
    let wrong = error(&wrong);
    assert_eq!(wrong.code, "SH0120");
    assert!(wrong.message.contains(&format!("at byte {}", file.len())), "{wrong}");
}

#[test]
fn errors_name_the_operation() {
    // Replaces the name of a dimension list by that of an unknown attribute, so that the list is missing.
    let file = fs::read(data().join("locations.v0.mlirbc")).expect("a readable file");
    let name = b"dimensions";
    let at = file.windows(name.len()).position(|part| part == name).expect("the name");
    let mut damaged = file.clone();
    damaged[at] = b'D';
    let error = error(&damaged);
    assert!(error.message.contains("stablehlo.reduce") && error.message.contains("`dimensions`"), "{error}");
    assert_eq!(error.user_loc.as_deref(), Some("model.py:5:6"));
    let shown = rendered(&[error]);
    assert!(shown.contains("in the stablehlo.reduce at byte"), "{shown}");
}

/// Runs `make.py` and compares its output.
#[test]
fn real_programs_are_the_same_in_bytecode() {
    let dir = shared().join("corpus");
    let mut programs = files(&dir.join("jax"), ".mlir");
    programs.extend(files(&dir.join("torch_xla"), ".mlir"));
    if programs.is_empty() {
        return skip(Need::Shared, &format!("{} is not there", dir.display()));
    }
    let Some(python) = std::env::var_os("SHARDC_PYTHON") else {
        return skip(Need::Python, "SHARDC_PYTHON names no Python with jaxlib");
    };
    let all = is_thorough();
    if !all {
        let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() < 50_000);
        programs = programs.into_iter().filter(small).step_by(8).collect();
    }
    let versions: &[&str] = if all { &["0", "2", "4", "6"] } else { &["1", "6"] };
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bytecode-corpus");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).expect("a new folder");
    let run = Command::new(python)
        .arg(data().join("make.py"))
        .arg(&out)
        .args(&programs)
        .arg("--")
        .args(versions)
        .env("JAX_PLATFORMS", "cpu")
        .output()
        .expect("Python runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let made = files(&out, ".mlirbc");
    assert_eq!(made.len(), programs.len() * versions.len());
    let failures: Vec<String> = made.iter().filter_map(|path| difference(path)).collect();
    eprintln!("{} bytecode files of {} programs match their text", made.len(), programs.len());
    demand(&failures);
}

/// A dictionary with a repeated name could not be printed and parsed again.
#[test]
fn dictionary_names_are_unique() {
    let mut bytes = fs::read(data().join("operations.v1.mlirbc")).expect("a fixture");
    let (name, other) = (b"channel_handle", b"replica_groups");
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the name of an attribute");
    bytes[at..at + name.len()].copy_from_slice(other);
    let errors = parse_bytecode(&bytes).expect_err("one name twice");
    assert!(rendered(&errors).contains("has the key `replica_groups` twice"), "{}", rendered(&errors));
}
