//! Checks that no code outside `crates/target` names a device of the table. Code that depends on a device reads a field of its row, so that a new
//! device needs no change elsewhere. Documentation and tests may name devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use proc_macro2::{TokenStream, TokenTree};
use shardc_target::SPECS;

use super::foreign::sources;
use super::sources::{end_of_item, is_for_tests, is_punct};
use super::workspace;

/// The folders of the compiler, its runtime and its command line.
const FOLDERS: [&str; 9] = [
    "crates/cli/src/",
    "crates/graph/src/",
    "crates/shardc/src/",
    "crates/strategy/src/",
    "crates/train/src/",
    "examples/",
    "ir/src/",
    "passes/",
    "runtime/src/",
];

/// Literals that may name a device: defaults of command-line options.
const DEFAULTS: [(&str, &str); 1] = [("examples/src/ahead.rs", "v5p")];

#[test]
fn only_the_table_names_devices() {
    let mut files = Vec::new();
    sources(workspace(), &mut files);
    let is_test = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    files.retain(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)) && !is_test(name));
    assert!(files.len() > 300, "only {} sources were found", files.len());
    let mut faults = Vec::new();
    for name in files {
        let source = fs::read_to_string(workspace().join(&name)).expect("a source can be read");
        for (device, line) in devices_in(source.parse().unwrap_or_else(|error| panic!("{name}: {error}"))) {
            if !DEFAULTS.contains(&(&name, &device)) {
                faults.push(format!("{name}:{line}: \"{device}\""));
            }
        }
    }
    assert!(faults.is_empty(), "{}\nuse a field of `TargetSpec` instead", faults.join("\n"));
}

#[test]
fn names_in_code_are_found_and_others_are_not() {
    let source = "//! v5p\nfn f(x: &str) -> bool {\n  x == \"v5p\" || x.starts_with(\"h100:\") || x == \"a v5p\" || x == \"cpu\"\n}\n\
        #[cfg(test)]\nmod tests {\n  const X: &str = \"v5e\";\n}";
    let found = devices_in(source.parse().unwrap());
    assert_eq!(found, [("v5p".to_owned(), 3), ("h100".to_owned(), 3)]);
}

/// Returns the names of accelerators that are string literals, or the part of one before a colon, each with its line. Test-only code is skipped.
/// `cpu` is also the name of a plugin, so it is not searched for.
fn devices_in(stream: TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                at += usize::from(is_punct(tokens.get(at), '!'));
                let Some(TokenTree::Group(attribute)) = tokens.get(at) else { continue };
                at += 1;
                if is_for_tests(attribute.stream()) {
                    at = end_of_item(&tokens, at);
                } else if !is_doc(attribute.stream()) {
                    found.extend(devices_in(attribute.stream()));
                }
            }
            TokenTree::Group(group) => found.extend(devices_in(group.stream())),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text.trim_matches('"');
                let name = text.split_once(':').map_or(text, |(name, _)| name);
                if name != "cpu" && SPECS.iter().any(|spec| spec.name == name) {
                    found.push((name.to_owned(), literal.span().start().line));
                }
            }
            _ => {}
        }
    }
    found
}

fn is_doc(attribute: TokenStream) -> bool {
    matches!(attribute.into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc")
}
