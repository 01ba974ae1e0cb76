//! Selects the warnings to show.
//!
//! Warnings about cost carry the bytes that a device sends or holds ([`Diagnostic::bytes`]). A program with many layers has a warning for
//! each layer, and most programs have some warnings about few bytes. [`select`] merges equal warnings, sorts them by bytes, and only
//! counts the small ones.

use indexmap::IndexMap;
use shardc_ir::{Class, Diagnostic, Severity, Span};

use crate::report::byte_size::bytes_text;

/// Warnings of at least this size are shown in any program.
const WORTH_TELLING: u64 = 64 << 10;

/// A group of equal warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarningGroup {
    /// The warning with the most bytes in the group; among equals, the first one. Its bytes are replaced by the sum over the group, and a
    /// note gives the number of the others.
    pub warning: Diagnostic,
    /// The number of warnings in the group.
    pub times: usize,
}

/// The result of [`select`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The warnings to show: first those that are not about cost, in the order of the program, then by decreasing bytes.
    pub groups: Vec<WarningGroup>,
    /// The number of omitted warnings, counting equal warnings once.
    pub left_out: usize,
    /// The bytes of all omitted warnings.
    pub left_out_bytes: u64,
    /// The smallest number of bytes, summed over a group of equal warnings, with which the group is shown.
    pub least: u64,
}

impl Selection {
    /// Returns the warnings to show, one for each group.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.groups.iter().map(|group| group.warning.clone()).collect()
    }

    /// Returns a summary of omitted warnings: `12 more warnings are not shown: each costs less than 64.0 KiB, 34.2 KiB in total`. Returns
    /// `None` if all are shown.
    #[must_use]
    pub fn rest(&self) -> Option<String> {
        let more = if self.groups.is_empty() { "" } else { "more " };
        let (least, bytes) = (bytes_text(self.least), bytes_text(self.left_out_bytes));
        match self.left_out {
            0 => None,
            1 => Some(format!("1 {more}warning is not shown: it costs {bytes}, less than {least}")),
            n => Some(format!(
                "{n} {more}warnings are not shown: each costs less than {least}, {bytes} in total"
            )),
        }
    }

    /// Turns the warnings into errors (strict mode).
    #[must_use]
    pub fn into_errors(self) -> Vec<Diagnostic> {
        let refused = |group: WarningGroup| Diagnostic {
            severity: Severity::Error,
            class: Class::Unsupported,
            ..group.warning
        };
        self.groups.into_iter().map(refused).collect()
    }
}

/// Returns the smallest number of bytes of a warning that is shown, for a program in which each device sends `sent` bytes: 64 KiB, or one
/// hundredth of `sent` if that is less.
#[must_use]
pub fn warning_threshold(sent: u64) -> u64 {
    WORTH_TELLING.min(sent.div_ceil(100))
}

/// Selects the warnings to show: those that are not about cost, and those of at least `least` bytes. Equal warnings are shown once.
///
/// Two warnings are equal if they have the same code and their messages differ only in numbers, as for an operation that occurs in each
/// layer. Their bytes are added: many layers cost as much as a loop over them.
#[must_use]
pub fn select<'a>(warnings: impl IntoIterator<Item = &'a Diagnostic>, least: u64) -> Selection {
    let mut selection = Selection { least, ..Selection::default() };
    for group in merged(warnings) {
        match group.warning.bytes {
            Some(bytes) if bytes < least => {
                selection.left_out += 1;
                selection.left_out_bytes = selection.left_out_bytes.saturating_add(bytes);
            }
            _ => selection.groups.push(group),
        }
    }
    // The sort is stable: ties stay in program order.
    selection
        .groups
        .sort_by_key(|group| (group.warning.bytes.is_some(), std::cmp::Reverse(group.warning.bytes)));
    selection
}

/// Merges equal warnings, in the order of their first occurrence.
pub fn merged<'a>(warnings: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<WarningGroup> {
    let mut groups: IndexMap<(&str, String), Vec<&Diagnostic>> = IndexMap::new();
    for warning in warnings {
        groups.entry((warning.code, without_numbers(&warning.message))).or_default().push(warning);
    }
    groups.values().filter_map(|group| one(group)).collect()
}

fn one(group: &[&Diagnostic]) -> Option<WarningGroup> {
    // The order is reversed because `max_by_key` returns the last of several equal elements, and the first one is wanted.
    let &first = group.iter().rev().max_by_key(|warning| warning.bytes)?;
    let (mut warning, times) = (first.clone(), group.len());
    if times > 1 {
        let bytes = group.iter().filter_map(|warning| warning.bytes).reduce(u64::saturating_add);
        warning.bytes = bytes;
        let in_all = bytes.map_or_else(String::new, |bytes| format!(", {} in total", bytes_text(bytes)));
        warning
            .notes
            .push((Span::NONE, format!("{} more like this{in_all}{}", times - 1, places(group, first))));
    }
    Some(WarningGroup { warning, times })
}

/// Returns the source locations of the other warnings of a group, as text: `; also at model.py:12:5 and 2 more`.
fn places(group: &[&Diagnostic], first: &Diagnostic) -> String {
    const SHOWN: usize = 3;
    let mut places: Vec<&str> = Vec::new();
    for place in group.iter().filter_map(|warning| warning.user_loc.as_deref()) {
        if first.user_loc.as_deref() != Some(place) && !places.contains(&place) {
            places.push(place);
        }
    }
    let shown = places[..places.len().min(SHOWN)].join(", ");
    match places.len() {
        0 => String::new(),
        n if n <= SHOWN => format!("; also at {shown}"),
        n => format!("; also at {shown} and {} more", n - SHOWN),
    }
}

/// Removes numbers from a message, except numbers inside names, types and shardings, so that messages that differ only in numbers are
/// equal.
fn without_numbers(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for word in message.split_inclusive(' ') {
        // Only complete words are numbers: the 8 in `tensor<8x4xf32>` is part of the type.
        let number = word.trim_end_matches([' ', ',', ':', ';', ')', '%']);
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        out.push_str(if is_number { &word[number.len()..] } else { word });
    }
    out
}

/// Multiplies the bytes of a warning by the number of executions of its operation.
pub fn counted(mut warning: Diagnostic, runs: u64) -> Diagnostic {
    if let (Some(bytes), true) = (warning.bytes, runs > 1) {
        let bytes = bytes.saturating_mul(runs);
        warning.bytes = Some(bytes);
        let note = format!("counted {runs} times, once per loop iteration: {}", bytes_text(bytes));
        warning.notes.push((Span::NONE, note));
    }
    warning
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(message: &str, bytes: Option<u64>) -> Diagnostic {
        Diagnostic { bytes, ..Diagnostic::warning(Class::InvalidInput, "SH0310", message) }
    }

    fn selected(warnings: &[Diagnostic], least: u64) -> Vec<(String, usize, Option<u64>)> {
        let selection = select(warnings, least);
        selection.groups.into_iter().map(|t| (t.warning.message, t.times, t.warning.bytes)).collect()
    }

    #[test]
    fn warnings_without_bytes_come_first_then_by_decreasing_bytes() {
        let all = [
            warning("small", Some(10)),
            warning("large", Some(4096)),
            warning("other", None),
            warning("larger", Some(8192)),
        ];
        let expected = [("other", None), ("larger", Some(8192)), ("large", Some(4096))];
        assert_eq!(selected(&all, 11), expected.map(|(m, b)| (m.to_owned(), 1, b)));
        let selection = select(&all, 11);
        assert_eq!(selection.rest().unwrap(), "1 more warning is not shown: it costs 10 B, less than 11 B");
        assert_eq!(select(&all, 0).rest(), None);
        assert_eq!(select(&all, 0).groups.len(), 4);
    }

    #[test]
    fn equal_warnings_are_merged_and_summed() {
        let of = |operand: u32, bytes| {
            warning(&format!("sort needs operand {operand}: tensor<8x{bytes}xf32>, 64 bytes"), Some(bytes))
        };
        let all = [of(0, 64), of(1, 64), of(0, 128), of(2, 64)];
        let first = of(0, 64).message;
        assert_eq!(selected(&all, 192), [(first, 3, Some(192))], "types are not numbers");
        let selection = select(&all, 192);
        assert_eq!(selection.groups[0].warning.notes[0].1, "2 more like this, 192 B in total");
        assert_eq!((selection.left_out, selection.left_out_bytes), (1, 128));
        let none = select(&all, 1 << 20);
        assert_eq!(
            none.rest().unwrap(),
            "2 warnings are not shown: each costs less than 1.0 MiB, 320 B in total"
        );
    }

    #[test]
    fn the_largest_of_equal_warnings_is_shown() {
        let all = [
            warning("parameter 0 costs 64 bytes", Some(64)),
            warning("parameter 1 costs 256 bytes", Some(256)),
            warning("parameter 2 costs 256 bytes", Some(256)),
        ];
        assert_eq!(selected(&all, 0), [("parameter 1 costs 256 bytes".to_owned(), 3, Some(576))]);
    }

    #[test]
    fn other_source_locations_are_listed() {
        let at = |loc: &str| Diagnostic { user_loc: Some(loc.to_owned()), ..warning("x", Some(1)) };
        let all = ["a.py:1:1", "a.py:2:1", "a.py:2:1", "b.py:1:1", "b.py:2:1", "b.py:3:1"].map(at);
        let note = &select(&all, 0).groups[0].warning.notes[0].1;
        assert_eq!(note, "5 more like this, 6 B in total; also at a.py:2:1, b.py:1:1, b.py:2:1 and 1 more");
    }

    #[test]
    fn the_threshold_is_a_hundredth_of_the_sent_bytes() {
        assert_eq!([0, 1, 250, 6_000_000, 1 << 30].map(warning_threshold), [0, 1, 3, 60_000, 65_536]);
    }

    #[test]
    fn bytes_in_loops_are_multiplied_by_runs() {
        let in_loop = counted(warning("x", Some(100)), 24);
        assert_eq!(in_loop.bytes, Some(2400));
        assert_eq!(in_loop.notes[0].1, "counted 24 times, once per loop iteration: 2.3 KiB");
        assert!(counted(warning("x", Some(100)), 1).notes.is_empty());
        assert_eq!(counted(warning("x", None), 24), warning("x", None));
    }
}
