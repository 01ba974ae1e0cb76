//! Markdown pages: their headings, their links, and the files that they include.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// A link of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link<'t> {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// The offset of the target in the text.
    pub(super) start: usize,
    /// The target: `OPS.md#table`.
    pub(super) target: &'t str,
}

impl<'t> Link<'t> {
    /// The file and the anchor, if the target is in the repository.
    pub(super) fn local(&self) -> Option<(&'t str, &'t str)> {
        let is_web = ["http://", "https://", "mailto:"].iter().any(|scheme| self.target.starts_with(scheme));
        (!is_web).then(|| self.target.split_once('#').unwrap_or((self.target, "")))
    }
}

/// The lines outside of code blocks, each with its number and its offset in the text.
fn prose(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let (mut offset, mut is_code) = (0, false);
    (1..).zip(text.split_inclusive('\n')).filter_map(move |(number, line)| {
        let start = offset;
        offset += line.len();
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((number, start, line))
    })
}

/// The links of a page, without those in code.
pub(super) fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for (line, start, content) in prose(text) {
        let mut offset = start;
        for (part, piece) in content.split('`').enumerate() {
            let targets = piece.match_indices("](").filter(|_| part % 2 == 0);
            links.extend(targets.filter_map(|(at, mark)| {
                let (target, _) = piece[at + mark.len()..].split_once(')')?;
                Some(Link { line, start: offset + at + mark.len(), target })
            }));
            offset += piece.len() + 1;
        }
    }
    links
}

/// The anchors of a page's headings, as mdBook and GitHub name them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).filter(|(_, _, line)| line.starts_with('#'));
    headings
        .map(|(_, _, line)| {
            let name = anchor(line.trim_start_matches('#'));
            let count = used.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
        })
        .collect()
}

fn anchor(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text of a page with the files that it includes (`{{#include FILE}}`). `read` returns the text of a file.
pub(super) fn expanded(path: &Path, text: &str, read: &dyn Fn(&Path) -> Option<String>) -> String {
    let line = |line: &str| {
        let file = line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        let included = file.and_then(|file| read(&resolve(path, file)));
        included.unwrap_or_else(|| line.to_owned())
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The path of a link's file, where `page` is the path of the page that has the link.
pub(super) fn resolve(page: &Path, file: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in page.parent().unwrap_or(Path::new("")).join(file).components() {
        match part {
            Component::ParentDir if out.file_name().is_some() => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_those_outside_of_code() {
        let text = "# A `b`: c, d\n[x](Y.md#z) `[no](NO.md)` [`q`](https://a.b)\n```\n[no](NO.md)\n# No\n```\n## Same\n## Same\n";
        let found = links(text);
        assert_eq!(found.iter().map(|link| link.target).collect::<Vec<_>>(), ["Y.md#z", "https://a.b"]);
        assert!(found.iter().all(|link| text[link.start..].starts_with(link.target) && link.line == 2));
        assert_eq!((found[0].local(), found[1].local()), (Some(("Y.md", "z")), None));
        assert_eq!(anchors(text), ["a-b-c-d", "same", "same-1"]);
    }

    #[test]
    fn paths_are_relative_to_the_page() {
        assert_eq!(resolve(Path::new("docs/errors/sh01.md"), "../OPS.md"), Path::new("docs/OPS.md"));
        assert_eq!(resolve(Path::new("docs/A.md"), "../README.md"), Path::new("README.md"));
    }

    #[test]
    fn included_files_replace_their_line() {
        let read = |path: &Path| (path == Path::new("ir/a.md")).then(|| "# A\n".to_owned());
        assert_eq!(expanded(Path::new("docs/e/a.md"), "{{#include ../../ir/a.md}}\nb", &read), "# A\nb");
    }
}
