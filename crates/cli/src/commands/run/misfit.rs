//! Mismatches between loaded arrays and the arguments of a program, reported in one error (SH1309).

use anyhow::Result;
use shardc::runtime::ArrayType;

use crate::failure::Failure;

/// The mismatches by kind, each described in one line.
#[derive(Default)]
pub(super) struct Misfit {
    missing: Vec<String>,
    unexpected: Vec<String>,
    misshaped: Vec<String>,
    twice: Vec<String>,
    of_no_use: Vec<String>,
}

impl Misfit {
    /// Records that an argument is missing from all sources, under its own name and under its name in `--map`.
    pub(super) fn is_missing(&mut self, argument: &str, called: &str, ty: &ArrayType) {
        let called = if called == argument { String::new() } else { format!(" ({called})") };
        self.missing.push(format!("missing: {argument}{called}, {ty}"));
    }

    /// Records that an array matches no argument.
    pub(super) fn is_unexpected(&mut self, name: &str, ty: &ArrayType, place: &str) {
        self.unexpected.push(format!("unexpected: {name}, {ty}, in {place}"));
    }

    /// Records that an array has a different type or shape than its argument.
    pub(super) fn is_misshaped(
        &mut self,
        (stored, is, place): (&str, &ArrayType, &str),
        (argument, wanted): (&str, &ArrayType),
    ) {
        self.misshaped.push(format!(
            "type or shape mismatch: {stored} is {is} in {place}, but the argument {argument} is {wanted}"
        ));
    }

    /// Records that several sources contain an array for the same argument.
    pub(super) fn is_there_twice(&mut self, name: &str, places: &[&str]) {
        self.twice.push(format!("ambiguous: {name} is in {}", places.join(" and ")));
    }

    /// Records that no array of a source matches an argument.
    pub(super) fn is_of_no_use(&mut self, place: &str) {
        self.of_no_use.push(format!("unused: no array in {place} matches an argument"));
    }

    /// Returns `fitting` if there are no mismatches.
    ///
    /// # Errors
    /// An error with all mismatches, and with options that may resolve them.
    pub(super) fn or<T>(self, fitting: T) -> Result<T> {
        let kinds: [(Vec<String>, &str, Option<&str>); 5] = [
            (
                self.missing,
                "missing",
                Some("rename arguments with --map, or use random values with --random-missing"),
            ),
            (self.unexpected, "unexpected", Some("ignore unexpected arrays with --ignore-unexpected")),
            (self.misshaped, "with a type or shape mismatch", Some("types and shapes are not converted")),
            (self.twice, "ambiguous", None),
            (self.of_no_use, "unused", None),
        ];
        let found = || kinds.iter().filter(|(lines, ..)| !lines.is_empty());
        if found().next().is_none() {
            return Ok(fitting);
        }
        let counts: Vec<String> = found().map(|(lines, what, _)| format!("{} {what}", lines.len())).collect();
        let hints: Vec<&str> = found().filter_map(|(.., hint)| *hint).collect();
        Err(Failure::Runtime {
            code: "SH1309".to_owned(),
            message: format!(
                "the loaded arrays do not match the arguments of the program: {}",
                counts.join(", ")
            ),
            notes: found().flat_map(|(lines, ..)| lines).cloned().collect(),
            hint: (!hints.is_empty()).then(|| hints.join("; ")),
        }
        .into())
    }
}
