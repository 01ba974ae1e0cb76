//! Checks that `unsafe` occurs only in the FFI modules, also in tests and examples. The compiler proves that all other code is memory-safe,
//! so the sanitizers (`cargo xtask sanitize`) only have to cover these few files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::{packages, text, workspace};

/// Files and folders that may contain `unsafe`.
const FOREIGN: [&str; 3] = ["crates/capi/src/ffi/", "crates/mlir/src/ffi.rs", "runtime/src/ffi/"];

/// The files that may allow the lint: the root files of the FFI modules.
const ALLOWING: [&str; 3] =
    ["crates/capi/src/ffi/mod.rs", "crates/mlir/src/ffi.rs", "runtime/src/ffi/mod.rs"];

/// The name of the lint; it denies the keyword [`WORD`].
const LINT: &str = "unsafe_code";
const WORD: &str = "unsafe";

#[test]
fn unsafe_code_is_only_in_ffi_modules() {
    let mut files = Vec::new();
    sources(workspace(), &mut files);
    assert!(files.len() > 500, "only {} sources were found", files.len());
    let (mut faults, mut with, mut allowing) = (Vec::new(), 0, Vec::new());
    for name in files {
        let source = fs::read_to_string(workspace().join(&name)).expect("a source can be read");
        let found = lines_with(&source, &[WORD, LINT]).unwrap_or_else(|error| panic!("{name}: {error}"));
        if FOREIGN.iter().any(|place| name == *place || place.ends_with('/') && name.starts_with(place)) {
            with += usize::from(found.iter().any(|(word, _)| word == WORD));
            if found.iter().any(|(word, _)| word == LINT) {
                allowing.push(name);
            }
        } else {
            faults.extend(found.into_iter().map(|(word, line)| format!("{name}:{line}: `{word}`")));
        }
    }
    assert!(faults.is_empty(), "{}\nare outside of {FOREIGN:?}", faults.join("\n"));
    assert!(with > 5, "`{WORD}` was found in {with} files of {FOREIGN:?}");
    allowing.sort();
    assert_eq!(allowing, ALLOWING);
}

/// Checks that all crates deny the lint, so that the compiler rejects `unsafe` in other files before any test runs.
#[test]
fn every_crate_denies_unsafe_code() {
    let of = |path: &Path| fs::read_to_string(path).expect("a Cargo.toml can be read");
    let root = of(&workspace().join("Cargo.toml"));
    let lints = root.split_once("[workspace.lints.rust]").expect("the workspace has lints").1;
    assert!(lints.lines().any(|line| line == format!("{LINT} = \"deny\"")), "{lints}");
    let packages = packages();
    assert!(packages.len() > 15, "{packages:?}");
    for package in packages {
        let manifest = of(Path::new(text(&package, "manifest_path")));
        assert!(manifest.contains("\n[lints]\nworkspace = true"), "{}: no lints", text(&package, "name"));
    }
}

#[test]
fn unsafe_is_found_only_in_code() {
    let source = "// unsafe\n#![allow(unsafe_code)]\nfn f() {\n  g(\"unsafe\", { unsafe { h() } });\n}\n/// unsafe\nunsafe impl T for X {}";
    let found = lines_with(source, &[WORD, LINT]).unwrap();
    assert_eq!(found, [(LINT.to_owned(), 2), (WORD.to_owned(), 4), (WORD.to_owned(), 7)]);
}

/// The occurrences of `words` as tokens in a source, each with its line number.
fn lines_with(source: &str, words: &[&str]) -> Result<Vec<(String, usize)>, proc_macro2::LexError> {
    let mut found = Vec::new();
    let mut streams: Vec<TokenStream> = vec![source.parse()?];
    while let Some(stream) = streams.pop() {
        for token in stream {
            match token {
                TokenTree::Group(group) => streams.push(group.stream()),
                TokenTree::Ident(word) if words.iter().any(|known| word == known) => {
                    found.push((word.to_string(), word.span().start().line));
                }
                _ => {}
            }
        }
    }
    found.sort_by_key(|(_, line)| *line);
    Ok(found)
}

/// The Rust sources below a folder, relative to the workspace root, without build outputs and hidden files.
pub(crate) fn sources(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            let is_output = name == "target" && !path.join("Cargo.toml").exists();
            if !is_output && !name.starts_with('.') {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let path = path.strip_prefix(workspace()).expect("it is below the root");
            files.push(path.to_string_lossy().into_owned());
        }
    }
}
