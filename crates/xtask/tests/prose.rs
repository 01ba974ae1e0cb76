//! The prose of the documentation: short sentences, narrow tables, standard terms.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// The most words of a sentence.
const LONGEST_SENTENCE: usize = 40;

/// The most characters of a table cell.
const WIDEST_CELL: usize = 200;

/// The most lines of the changelog of a version.
const LONGEST_CHANGELOG: usize = 65;

/// Phrases that have a standard term, which `docs/GLOSSARY.md` defines.
const RETIRED: &[(&str, &str)] = &[
    ("pending sum", "unreduced value"),
    ("asked for of", "cotangent"),
    ("for nobody", "dead, unused"),
    ("what makes it", "producer"),
    ("what reads it", "user"),
    ("is told of", "is reported"),
    ("number that decides", "threshold"),
    ("room for so many times", "capacity factor"),
];

/// Pages whose tables code writes from texts of the program: their cells follow those texts.
const GENERATED: &[&str] = &["OPS.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn name(page: &Path) -> String {
    page.file_name().unwrap().to_string_lossy().into_owned()
}

fn pages() -> Vec<PathBuf> {
    let mut pages =
        vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("CHANGELOG.md")];
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    pages.retain(|page| {
        page.extension().is_some_and(|end| end == "md") && !GENERATED.contains(&name(page).as_str())
    });
    pages.sort();
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

/// A paragraph, list item or table cell, with the line on which it begins. Code blocks and headings are left out.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut continues) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.is_empty() || ["```", "#", "<!--"].iter().any(|start| line.starts_with(start)) {
            continues = false;
        } else if let Some(row) = line.strip_prefix('|') {
            blocks
                .extend(row.trim_end_matches('|').split(" | ").map(|cell| (number, cell.trim().to_owned())));
            continues = false;
        } else if let Some(item) = list_item(line) {
            blocks.push((number, item.to_owned()));
            continues = true;
        } else {
            match blocks.last_mut().filter(|_| continues) {
                Some((_, block)) => *block += &format!(" {line}"),
                None => blocks.push((number, line.to_owned())),
            }
            continues = true;
        }
    }
    blocks
}

/// The text of `* text`, `- text` or `1. text`.
fn list_item(line: &str) -> Option<&str> {
    let (mark, text) = line.split_once(' ')?;
    let number = mark.strip_suffix('.');
    let is_mark = matches!(mark, "*" | "-") || number.is_some_and(|number| number.parse::<u32>().is_ok());
    is_mark.then_some(text)
}

/// The words of each sentence; a piece of code is one word.
fn sentences(block: &str) -> Vec<Vec<&str>> {
    let mut sentences = vec![Vec::new()];
    let without_code = block.split('`').enumerate().flat_map(|(part, text)| {
        let code = (part % 2 == 1).then_some("code");
        code.into_iter().chain(text.split_whitespace().filter(move |_| part % 2 == 0))
    });
    for word in without_code {
        sentences.last_mut().unwrap().push(word);
        if word.ends_with(['.', ':', ';', '?', '!']) {
            sentences.push(Vec::new());
        }
    }
    sentences
}

#[test]
fn sentences_are_short() {
    let mut long = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (line, block) in blocks(&text) {
            for words in sentences(&block).iter().filter(|words| words.len() > LONGEST_SENTENCE) {
                long.push(format!("{}:{line}: {} words: {}", name(&page), words.len(), words.join(" ")));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn table_cells_are_narrow() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| line.starts_with('|')) {
            for cell in line.split(" | ") {
                let wide = cell.chars().count();
                assert!(wide <= WIDEST_CELL, "{}:{number}: {wide} characters: {cell}", name(&page));
            }
        }
    }
}

#[test]
fn retired_phrases_are_not_used() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap().to_lowercase();
        for (number, line) in (1..).zip(text.lines()) {
            for (retired, standard) in RETIRED {
                assert!(!line.contains(retired), "{}:{number}: '{retired}': write {standard}", name(&page));
            }
        }
    }
}

#[test]
fn the_changelog_is_short() {
    let lines = fs::read_to_string(root().join("CHANGELOG.md")).unwrap().lines().count();
    assert!(lines <= LONGEST_CHANGELOG, "{lines} lines");
}

#[test]
fn blocks_and_sentences_are_found() {
    let text = "# Title\n\nOne two.\nThree `a b` four.\n\n* item\n  goes on\n\n```\ncode\n```\n| a | b c |\n";
    let expected = [(3, "One two. Three `a b` four."), (6, "item goes on"), (12, "a"), (12, "b c")];
    assert_eq!(blocks(text), expected.map(|(line, block)| (line, block.to_owned())));
    assert_eq!(sentences("One two. Three `a b` four"), [vec!["One", "two."], vec!["Three", "code", "four"]]);
}
