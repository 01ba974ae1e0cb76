//! The registry of diagnostic codes: the class and the explanation of each code, as `shardc help SH0310` prints and the documentation shows
//! them.
//!
//! The explanations are Markdown files beside this module, one for each range of codes. After an introduction, a file has a section for each
//! code:
//!
//! ```text
//! ## SH0310
//!
//! **An operation cannot be sharded along a dimension** (warning, unsupported)
//!
//! The explanation.
//! ```
//!
//! A test compares the registry with the codes in the sources (`crates/xtask/tests/codes.rs`), and another runs the commands in the
//! explanations (`tests/tests/suite/guide.rs`).

use crate::suggest::edit_distance;
use crate::{Class, Severity};

/// The files of explanations, each with its name.
pub const FILES: &[(&str, &str)] = &[
    ("sh01", include_str!("sh01.md")),
    ("sh02", include_str!("sh02.md")),
    ("sh03", include_str!("sh03.md")),
    ("sh04", include_str!("sh04.md")),
    ("sh05", include_str!("sh05.md")),
    ("sh06", include_str!("sh06.md")),
    ("sh07", include_str!("sh07.md")),
    ("sh08", include_str!("sh08.md")),
    ("sh09", include_str!("sh09.md")),
    ("sh10", include_str!("sh10.md")),
    ("sh11", include_str!("sh11.md")),
    ("sh12", include_str!("sh12.md")),
    ("sh13", include_str!("sh13.md")),
    ("sh14", include_str!("sh14.md")),
    ("sh15", include_str!("sh15.md")),
    ("rt", include_str!("rt.md")),
];

/// A diagnostic code with its explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code: `SH0310`.
    pub code: &'static str,
    /// The title: a sentence without a final period.
    pub title: &'static str,
    /// The severities and classes, as text: `error, invalid input or unsupported`.
    pub kind: &'static str,
    /// The explanation, in Markdown.
    pub text: &'static str,
}

impl Code {
    /// Whether diagnostics with this code may have this severity.
    #[must_use]
    pub fn has_severity(&self, severity: Severity) -> bool {
        let (severities, _) = self.parts();
        severities.split(" or ").any(|name| name == severity_name(severity))
    }

    /// Whether diagnostics with this code may be of this class.
    #[must_use]
    pub fn has_class(&self, class: Class) -> bool {
        let (_, classes) = self.parts();
        classes.split(", ").flat_map(|names| names.split(" or ")).any(|name| name == class_name(class))
    }

    fn parts(&self) -> (&'static str, &'static str) {
        self.kind.split_once(", ").unwrap_or((self.kind, ""))
    }
}

/// The name of a severity in [`Code::kind`].
fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// The name of a class in [`Code::kind`].
fn class_name(class: Class) -> &'static str {
    match class {
        Class::InvalidInput => "invalid input",
        Class::Unsupported => "unsupported",
        Class::Internal => "internal",
    }
}

/// Returns all codes, in the order of the files.
pub fn all() -> impl Iterator<Item = Code> {
    FILES.iter().flat_map(|(_, text)| text.split("\n## ").skip(1)).filter_map(section)
}

/// Returns the code with this name, in upper or lower case.
#[must_use]
pub fn find(name: &str) -> Option<Code> {
    all().find(|code| code.code.eq_ignore_ascii_case(name))
}

/// Returns the code whose name is nearest to an unknown name: the one with the fewest changed characters, and among these, the one with the
/// nearest number.
#[must_use]
pub fn nearest(name: &str) -> Option<Code> {
    let name = name.to_ascii_uppercase();
    let number =
        |name: &str| name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(0);
    let distance = |code: &Code| (edit_distance(&name, code.code), number(&name).abs_diff(number(code.code)));
    all().min_by_key(distance)
}

/// Whether a text has the form of a code: two letters and digits.
#[must_use]
pub fn is_code(text: &str) -> bool {
    let (letters, digits) = text.split_at_checked(2).unwrap_or((text, ""));
    let is_known = ["SH", "RT"].iter().any(|prefix| prefix.eq_ignore_ascii_case(letters));
    is_known && !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

/// Reads the section of a code, without the `## ` of its heading; `None` if it does not have the form of a section.
fn section(text: &'static str) -> Option<Code> {
    let (code, rest) = text.split_once("\n\n**")?;
    let (title, rest) = rest.split_once("** (")?;
    let (kind, text) = rest.split_once(")\n")?;
    Some(Code { code, title, kind, text: text.trim() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_section_is_read_once() {
        let headings: usize = FILES.iter().map(|(_, text)| text.matches("\n## ").count()).sum();
        let names: BTreeSet<&str> = all().map(|code| code.code).collect();
        assert!(headings > 250 && names.len() == headings, "{headings} headings, {} codes", names.len());
    }

    #[test]
    fn sections_have_a_title_a_kind_and_a_text() {
        for code in all() {
            assert!(is_code(code.code) && code.code.len() == 6, "{code:?}");
            assert!(
                !code.title.is_empty() && !code.title.ends_with('.') && !code.text.is_empty(),
                "{code:?}"
            );
            assert!(!code.text.contains("]("), "{}: the command line cannot show links", code.code);
            let severities =
                [Severity::Warning, Severity::Error].map(|one| (severity_name(one), code.has_severity(one)));
            let classes = [Class::InvalidInput, Class::Unsupported, Class::Internal]
                .map(|one| (class_name(one), code.has_class(one)));
            let mut left = code.kind.to_owned();
            for (name, is) in severities.into_iter().chain(classes) {
                if is {
                    left = left.replacen(name, "", 1);
                }
            }
            assert!(left.replace(" or ", "").replace(", ", "").is_empty(), "{}: {}", code.code, code.kind);
        }
    }

    #[test]
    fn unknown_codes_have_a_nearest_one() {
        assert_eq!(find("sh0310").map(|code| code.title), find("SH0310").map(|code| code.title));
        assert_eq!(find("SH0320"), None);
        let near = |name| nearest(name).map(|code| code.code);
        assert_eq!(
            [near("SH0320"), near("SH9999"), near("sh310")],
            [Some("SH0321"), Some("SH0909"), Some("SH0310")]
        );
        assert_eq!(["SH0310", "rt1", "SH", "partition", "é"].map(is_code), [true, true, false, false, false]);
    }
}
