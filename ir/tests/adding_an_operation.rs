//! `docs/ADDING_AN_OPERATION.md` lists exactly the places that name an operation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The operation that the test looks for in the sources: it has attributes and a pretty form.
const VARIANT: &str = "Fft";
const NAME: &str = "\"stablehlo.fft\"";

/// Files that name `VARIANT` although they need not name every operation: a pass handles it specially, the graph builder has a method for
/// it, the file is about its family, or it has an entry that is sound for operations that it does not name.
const OWN: &[&str] = &[
    "crates/autodiff/src/transpose/rules/linear_algebra.rs",
    "crates/graph/src/ops/linalg.rs",
    "crates/interpreter/src/eval/contractions.rs",
    "crates/prove/src/eval/generic.rs",
    "crates/shardc/src/exec/exact/degree.rs",
    "passes/src/plan/expand/fft.rs",
    "passes/src/plan/expand/mod.rs",
    "passes/analysis/src/transforms/row_major_fft.rs",
    "passes/cost/src/time/work.rs",
];

/// The maximum number of files that a new operation may have to change.
const MOST: usize = 11;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files that the numbered table of the document lists.
fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/ADDING_AN_OPERATION.md")).unwrap();
    let place = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        cells.next()?.trim().parse::<u32>().ok()?;
        Some(cells.next()?.trim_matches('`').to_owned())
    };
    text.lines().filter_map(place).collect()
}

/// Whether a source file names the operation: as a variant of `OpKind`, in a declaration, or by its name in StableHLO.
fn names_it(source: &str) -> bool {
    let variants = ["OpKind::", "K::"].map(|path| format!("{path}{VARIANT}"));
    let is_variant = |at: usize, found: &str| {
        let before = source[..at].chars().next_back();
        let after = source[at + found.len()..].chars().next();
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !in_word(before) && !in_word(after)
    };
    let mut uses = variants.iter().flat_map(|variant| source.match_indices(variant.as_str()));
    uses.any(|(at, found)| is_variant(at, found))
        || source.contains(NAME)
        || source.contains("pub enum OpKind") && source.contains(&format!("    {VARIANT} {{"))
}

/// The sources of the workspace, except tests.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.extension() {
            _ if path.is_dir() && !matches!(&*name, "target" | "tests" | "fuzz" | ".git") => {
                sources(&path, found)
            }
            Some(extension) if extension == "rs" && name != "tests.rs" => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn listed_places_match_the_code() {
    let root = root();
    let mut files = Vec::new();
    for dir in ["ir", "passes", "runtime", "crates"] {
        sources(&root.join(dir), &mut files);
    }
    let relative = |path: PathBuf| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
    let mut found: BTreeSet<String> =
        files.into_iter().filter(|path| names_it(&fs::read_to_string(path).unwrap())).map(relative).collect();
    for own in OWN {
        assert!(found.remove(*own), "{own} does not name it any more");
    }
    assert_eq!(found, listed(), "left: what the code has; right: what the document lists");
    assert!(found.len() <= MOST, "an operation stands in {} places: {found:?}", found.len());
}
