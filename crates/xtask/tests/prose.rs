//! Checks the prose of documents, comments and filetests: short sentences, narrow tables, standard terms.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// The maximum number of words in a sentence.
const LONGEST_SENTENCE: usize = 40;

/// The maximum number of characters in a table cell.
const WIDEST_CELL: usize = 200;

/// The maximum number of lines in the changelog of a version.
const LONGEST_CHANGELOG: usize = 65;

/// Retired phrases and the standard terms that replace them; `docs/GLOSSARY.md` defines the standard terms. Longer words that begin with a
/// phrase also match.
const RETIRED: &[(&str, &str)] = &[
    ("addend", "partial sum, operand or term"),
    ("anew", "again"),
    ("asked for of", "cotangent"),
    ("asked of", "cotangent or required"),
    ("backward part", "backward pass"),
    ("for nobody", "dead or unused"),
    ("forward part", "forward pass"),
    ("hand on", "pass on"),
    ("hands on", "passes on"),
    ("how much of the mean of gradients stays", "beta1 or first-moment decay"),
    ("looked at", "examined or checked"),
    ("narrowed", "cast to a narrower type"),
    ("nobody asks", "no annotation requests"),
    ("nobody reads", "unused or not read"),
    ("number that decides", "threshold or heuristic"),
    ("pending sum", "unreduced value"),
    ("room for so many times", "capacity factor"),
    ("somebody", "a user or an operation"),
    ("time round", "iteration"),
    ("told", "reported, printed or distinguished"),
    ("what is alive", "live values"),
    ("what is asked for", "cotangent or requested"),
    ("what it is told", "options or inputs"),
    ("what makes", "producer"),
    ("what reads", "user"),
    ("what stands", "contents or operations"),
    ("whoever", "the caller or the users"),
    ("whole on every device", "replicated"),
];

/// Words that must not begin a sentence, except a question: the subject comes first.
const RELATIVE_CLAUSES: &[&[&str]] = &[&["What"], &["Of"], &["Where"], &["That", "which"]];

/// Directories with sources.
const SOURCES: &[&str] = &["crates", "examples", "ir", "passes", "runtime", "tests"];

/// Pages, and folders of pages, with generated tables, whose cells contain texts of the program.
const GENERATED: &[&str] = &["OPS.md", "results"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn name(page: &Path) -> String {
    page.file_name().unwrap().to_string_lossy().into_owned()
}

/// The path of a file relative to the workspace root.
fn place(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

fn pages() -> Vec<PathBuf> {
    let mut pages =
        vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("CHANGELOG.md")];
    let mut folders = vec![root().join("docs"), root().join("ir/src/codes")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_generated = path.is_dir() && GENERATED.contains(&name(&path).as_str());
            match path.is_dir() {
                true => folders.extend((!is_generated).then_some(path)),
                false => pages.push(path),
            }
        }
    }
    pages.retain(|page| {
        page.extension().is_some_and(|end| end == "md") && !GENERATED.contains(&name(page).as_str())
    });
    pages.sort();
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

/// The sources with comments: Rust files and filetests.
fn sources() -> Vec<PathBuf> {
    let (mut folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        (SOURCES.iter().map(|folder| root().join(folder)).collect(), Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_filetest = || {
                path.extension().is_some_and(|end| end == "mlir")
                    && path.starts_with(root().join("tests/filetests"))
            };
            if path.is_dir() {
                let is_output = name(&path) == "target" && !path.join("Cargo.toml").exists();
                folders.extend((!is_output).then_some(path));
            } else if path.extension().is_some_and(|end| end == "rs") || is_filetest() {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 1000, "{} sources", files.len());
    files
}

/// The text of the line comments of a source, with the same line numbers. Lines with code or with filetest directives become empty.
fn comments(source: &str) -> String {
    let text = |line: &str| -> String {
        let Some(text) = line.trim_start().strip_prefix("//") else { return String::new() };
        let text = text.trim_start_matches(['/', '!']).trim();
        let first = text.split(' ').next().unwrap_or_default();
        let is_directive = first.ends_with(':') && !first.contains(|c: char| c.is_ascii_lowercase());
        if is_directive { String::new() } else { text.to_owned() }
    };
    source.lines().map(|line| text(line) + "\n").collect()
}

/// The paragraphs, list items and table cells, each with the line on which it begins. Code blocks and headings are omitted.
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

/// The text of a list item: `* text`, `- text` or `1. text`.
fn list_item(line: &str) -> Option<&str> {
    let (mark, text) = line.split_once(' ')?;
    let number = mark.strip_suffix('.');
    let is_mark = matches!(mark, "*" | "-") || number.is_some_and(|number| number.parse::<u32>().is_ok());
    is_mark.then_some(text)
}

/// The words of each sentence. A code span counts as one word.
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

/// The violations in a Markdown text, each with its location.
fn faults(place: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (line, block) in blocks(text) {
        for words in sentences(&block) {
            let mut fault =
                |fault: String| faults.push(format!("{place}:{line}: {fault}: {}", words.join(" ")));
            if words.len() > LONGEST_SENTENCE {
                fault(format!("{} words, the maximum is {LONGEST_SENTENCE}", words.len()));
            }
            let is_question = words.last().is_some_and(|word| word.ends_with('?'));
            if let Some(start) =
                RELATIVE_CLAUSES.iter().find(|start| words.starts_with(start) && !is_question)
            {
                fault(format!("begin with the subject, not with '{}'", start.join(" ")));
            }
            let sentence = words.join(" ").to_lowercase();
            for (retired, standard) in RETIRED.iter().filter(|(retired, _)| has(&sentence, retired)) {
                fault(format!("write {standard}, not '{retired}'"));
            }
        }
    }
    faults
}

/// Whether a sentence contains a phrase at the start of a word.
fn has(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, _)| !sentence[..at].ends_with(|c: char| c.is_alphanumeric()))
}

#[test]
fn pages_are_in_standard_english() {
    let faults: Vec<String> =
        pages().iter().flat_map(|page| faults(&name(page), &fs::read_to_string(page).unwrap())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn comments_are_in_standard_english() {
    let faults: Vec<String> = sources()
        .iter()
        .flat_map(|file| faults(&place(file), &comments(&fs::read_to_string(file).unwrap())))
        .collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
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
fn merges_are_complete() {
    let marks = ["<<<<<<< ", ">>>>>>> "];
    for file in pages().into_iter().chain(sources()) {
        let text = fs::read_to_string(&file).unwrap();
        let mark = text.lines().position(|line| marks.iter().any(|mark| line.starts_with(mark)));
        assert_eq!(mark, None, "{} has a conflict marker", place(&file));
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

#[test]
fn faults_are_found() {
    let source = "/// What it reads.\n/// Is it? Yes.\nfn f() {} // not\n    // It is told `told`,\n    // and\n    // unfolds.\n// RUN: told\n";
    assert_eq!(comments(source), "What it reads.\nIs it? Yes.\n\nIt is told `told`,\nand\nunfolds.\n\n");
    let expected = [
        "a.rs:1: begin with the subject, not with 'What': What it reads.",
        "a.rs:4: write reported, printed or distinguished, not 'told': It is told code , and unfolds.",
    ];
    assert_eq!(faults("a.rs", &comments(source)), expected);
    assert_eq!(faults("a.md", &"word ".repeat(41))[0][..7], *"a.md:1:");
}
