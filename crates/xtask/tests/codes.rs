//! Compares the registry of diagnostic codes (`ir/src/codes`) with the codes in the sources.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use shardc_ir::{Class, codes};

/// Directories with sources.
const SOURCES: &[&str] = &["crates", "ir", "passes", "runtime"];

/// The constructors of errors, each with the class of its errors.
const CONSTRUCTORS: &[(&str, Class)] = &[
    ("Diagnostic::invalid(", Class::InvalidInput),
    ("Diagnostic::unsupported(", Class::Unsupported),
    ("Diagnostic::internal(", Class::Internal),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of each source without its unit tests.
fn sources() -> Vec<String> {
    let (mut folders, mut texts): (Vec<PathBuf>, Vec<String>) =
        (SOURCES.iter().map(|folder| root().join(folder)).collect(), Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.extend((!["tests", "target", "fuzz", "xtask"].contains(&&*name)).then_some(path));
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                texts.push(text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(texts.len() > 500, "{} sources", texts.len());
    texts
}

/// The positions and names of the codes in a source: in string literals, alone or in brackets.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = ["\"SH", "\"RT", "[SH", "[RT"].into_iter().flat_map(|start| text.match_indices(start));
    starts.filter_map(|(at, _)| {
        let name = text.get(at + 1..at + 7)?;
        let is_whole = matches!(text.as_bytes().get(at + 7), Some(b'"' | b']'));
        (is_whole && codes::is_code(name)).then_some((at, name))
    })
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let sources = sources();
    let used: BTreeSet<&str> = sources.iter().flat_map(|text| named(text).map(|(_, name)| name)).collect();
    let explained: BTreeSet<&str> = codes::all().map(|code| code.code).collect();
    let without_page: Vec<_> = used.difference(&explained).collect();
    let without_use: Vec<_> = explained.difference(&used).collect();
    assert!(
        without_page.is_empty() && without_use.is_empty(),
        "codes without a section in ir/src/codes: {without_page:?}\nsections without a code: {without_use:?}"
    );
}

#[test]
fn pages_state_the_classes_of_their_codes() {
    let sources = sources();
    let mut wrong: BTreeMap<&str, Vec<Class>> = BTreeMap::new();
    let mut checked = 0;
    for text in &sources {
        for (at, name) in named(text) {
            let before = text[..at].trim_end();
            let class = CONSTRUCTORS.iter().find(|(constructor, _)| before.ends_with(constructor));
            let (Some(&(_, class)), Some(code)) = (class, codes::find(name)) else { continue };
            checked += 1;
            if !code.has_class(class) {
                wrong.entry(name).or_default().push(class);
            }
        }
    }
    assert!(checked > 150 && wrong.is_empty(), "{checked} errors; wrong classes in ir/src/codes: {wrong:?}");
}

#[test]
fn every_range_of_codes_is_a_page_of_the_book() {
    for (name, text) in codes::FILES {
        let page = fs::read_to_string(root().join(format!("docs/errors/{name}.md"))).unwrap();
        assert_eq!(page.trim(), format!("{{{{#include ../../ir/src/codes/{name}.md}}}}"));
        assert!(text.starts_with("# "), "{name}");
    }
}
