//! The check of the book: every page is in `SUMMARY.md`, and every link leads to a file and a heading that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::SOURCES;
use super::page::{Link, anchors, expanded, links, resolve};

/// The table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// Pages outside of the book whose links are checked too.
const OTHERS: &[&str] = &["README.md", "CONTRIBUTING.md"];

/// Returns the faults of the book in a workspace, one a line.
///
/// # Errors
/// A page cannot be read.
pub fn faults(root: &Path) -> Result<Vec<String>> {
    let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut folders = vec![PathBuf::from(SOURCES)];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(root.join(&folder)).with_context(|| format!("reading {}", folder.display()))?
        {
            let path = folder.join(entry?.file_name());
            if root.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let text = read(&path).with_context(|| format!("reading {}", path.display()))?;
                pages.insert(path.clone(), expanded(&path, &text, &read));
            }
        }
    }
    for other in OTHERS {
        let text = read(Path::new(other)).with_context(|| format!("reading {other}"))?;
        pages.insert(PathBuf::from(other), text);
    }
    let mut faults = contents(&pages);
    for (path, text) in &pages {
        let broken = links(text).into_iter().filter_map(|link| {
            let fault = fault(root, &pages, path, &link)?;
            Some(format!("{}:{}: {fault}", path.display(), link.line))
        });
        faults.extend(broken);
    }
    Ok(faults)
}

/// The differences between the table of contents and the pages of the book.
fn contents(pages: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let summary = Path::new(SOURCES).join(SUMMARY);
    let text = pages.get(&summary).map_or("", String::as_str);
    let (mut listed, mut faults) = (BTreeSet::new(), Vec::new());
    for link in links(text) {
        if !listed.insert(resolve(&summary, link.target)) {
            faults.push(format!("{}:{}: {} is listed twice", summary.display(), link.line, link.target));
        }
    }
    let in_book = pages.keys().filter(|path| path.starts_with(SOURCES) && **path != summary);
    let missing = in_book.filter(|path| !listed.contains(*path));
    faults
        .extend(missing.map(|path| format!("{}: the page {} is missing", summary.display(), path.display())));
    faults
}

/// Describes the fault of a link; `None` if it has none.
fn fault(root: &Path, pages: &BTreeMap<PathBuf, String>, page: &Path, link: &Link<'_>) -> Option<String> {
    let (file, anchor) = link.local()?;
    let path = if file.is_empty() { page.to_owned() } else { resolve(page, file) };
    if !root.join(&path).exists() {
        return Some(format!("there is no file {}", path.display()));
    }
    let has_anchor = |text: &String| anchors(text).iter().any(|name| name == anchor);
    let is_broken = !anchor.is_empty() && !pages.get(&path).is_some_and(has_anchor);
    is_broken.then(|| format!("{} has no heading #{anchor}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("README.md", "[book](docs/a.md)");
        write("CONTRIBUTING.md", "");
        write("docs/SUMMARY.md", "- [A](a.md)\n- [A](a.md)\n- [C](c.md)\n");
        write("docs/a.md", "# A\n[b](e/b.md#two) [b](e/b.md#one) [root](../README.md)\n");
        write("docs/e/b.md", "{{#include ../../x.md}}\n[a](a.md)\n");
        write("x.md", "# One\n");
        let expected = [
            "docs/SUMMARY.md:2: a.md is listed twice",
            "docs/SUMMARY.md: the page docs/e/b.md is missing",
            "docs/SUMMARY.md:3: there is no file docs/c.md",
            "docs/a.md:2: docs/e/b.md has no heading #two",
            "docs/e/b.md:2: there is no file docs/e/a.md",
        ];
        assert_eq!(faults(root.path()).unwrap(), expected);
    }
}
