//! Checks the tables of `docs/ENGINES.md`: every test and script in a row exists, and every script is in a row.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use shardc_tests::root;

/// Maximum number of characters in a cell.
const WIDEST: usize = 200;

/// The cells of a row: behavior, engine, how it was observed, what shardc does, and the test.
const CELLS: usize = 5;

fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| behaviour"));
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
}

#[test]
fn rows_name_files_that_exist() {
    let top = root().join("..");
    let page = fs::read_to_string(top.join("docs/ENGINES.md")).unwrap();
    for row in rows(&page) {
        assert_eq!(row.len(), CELLS, "{row:?}");
        for cell in &row {
            assert!(cell.chars().count() <= WIDEST, "{} characters: {cell}", cell.chars().count());
        }
        let test = row[CELLS - 1].trim_matches('`');
        assert!(top.join(test).is_file(), "no test {test}: {row:?}");
        for word in row.iter().flat_map(|cell| cell.split('`')).filter(|word| word.starts_with("findings/")) {
            assert!(top.join(word).is_file(), "there is no {word}");
        }
    }
    for script in fs::read_dir(top.join("findings")).unwrap() {
        let name = script.unwrap().file_name().into_string().unwrap();
        assert!(page.contains(&format!("`findings/{name}`")), "no row names findings/{name}");
    }
}
