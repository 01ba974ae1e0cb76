//! Reports the results of the checks: a table, and the failures that are not listed as exceptions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail};

use super::super::exceptions::Exceptions;

/// A program and the results of its checks. Each result has the check's name, the outcome (`passed`, `skipped` or `failed`), and a message.
pub(super) struct Row {
    pub(super) kind: String,
    pub(super) name: String,
    /// The reason why this version of JAX cannot export the program.
    pub(super) skip: Option<String>,
    pub(super) checks: Vec<(String, String, String)>,
}

/// The columns of the table, and the checks that each column summarizes.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("printed", &["printed", "printed with locations"]),
    ("partitioned", &["replica", "partition"]),
    ("jaxlib accepts", &["replica peer", "partition peer"]),
    ("values", &["replica values", "partition values"]),
    ("gradient", &["gradient"]),
];

/// The results of all programs of one version of JAX.
pub(super) struct Report<'r> {
    version: &'r str,
    rows: &'r [Row],
    exceptions: &'r Exceptions,
    /// Failed checks: the program and check, the message, and the index of the exception that expects the failure, if any.
    failures: Vec<(String, &'r str, Option<usize>)>,
    covered: BTreeSet<usize>,
}

impl<'r> Report<'r> {
    pub(super) fn new(version: &'r str, rows: &'r [Row], exceptions: &'r Exceptions) -> Report<'r> {
        let mut failures = Vec::new();
        let mut covered = BTreeSet::new();
        for row in rows {
            let path = format!("{version}/{}/{}", row.kind, row.name);
            for (check, outcome, message) in &row.checks {
                let line = exceptions.find(&path, check);
                covered.extend(line);
                if outcome == "failed" {
                    failures.push((format!("{path}#{check}"), message.as_str(), line));
                }
            }
        }
        Report { version, rows, exceptions, failures, covered }
    }

    /// A table with one row for each kind of program: the number of programs, and for each column, how many passed the checks and to how
    /// many the checks apply.
    fn table(&self) -> String {
        let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.skip.is_none()) {
            kinds.entry(&row.kind).or_default().push(row);
        }
        let mut table = String::from("| kind | programs |");
        for (name, _) in COLUMNS {
            let _ = write!(table, " {name} |");
        }
        table.push_str("\n|---|---|---|---|---|---|---|\n");
        let all: Vec<&Row> = self.rows.iter().filter(|row| row.skip.is_none()).collect();
        let rows = kinds.into_iter().chain([("all", all)]);
        for (kind, rows) in rows {
            let _ = write!(table, "| {} | {} |", kind.replace('_', " "), rows.len());
            for (_, checks) in COLUMNS {
                let outcomes = rows.iter().map(|row| row.outcome(checks));
                let (mut passed, mut applies) = (0, 0);
                for outcome in outcomes.flatten() {
                    applies += 1;
                    passed += usize::from(outcome);
                }
                let _ = match applies {
                    0 => write!(table, " - |"),
                    _ if passed == applies => write!(table, " {passed} |"),
                    _ => write!(table, " {passed} of {applies} |"),
                };
            }
            table.push('\n');
        }
        table
    }

    pub(super) fn print(&self, is_verbose: bool) {
        println!("\nJAX {}\n{}", self.version, self.table());
        for row in self.rows {
            if let Some(why) = &row.skip {
                println!("   skipped: {}/{}: {why}", row.kind, row.name);
            }
        }
        for (place, message, line) in &self.failures {
            match line {
                Some(line) => println!("   listed: {place}: {}", self.exceptions.line(*line).1),
                None if is_verbose => println!("   {place}: {message}"),
                None => println!("   {place}: {}", first_line(message)),
            }
        }
    }

    /// Writes the table and the list of failures between the markers of this version.
    pub(super) fn update(&self, file: &Path) -> Result<()> {
        let page = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let mut section = format!("\n{}", self.table());
        let skipped: Vec<String> = self
            .rows
            .iter()
            .filter_map(|row| row.skip.as_ref().map(|why| format!("* `{}/{}`: {why}", row.kind, row.name)))
            .collect();
        if !skipped.is_empty() {
            let _ = write!(
                section,
                "\nPrograms that this version of JAX cannot export:\n\n{}\n",
                skipped.join("\n")
            );
        }
        let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (place, message, line) in &self.failures {
            let reason = line.map_or_else(|| first_line(message), |line| self.exceptions.line(line).1);
            let place = place.strip_prefix(self.version).unwrap_or(place).trim_start_matches('/');
            reasons.entry(reason).or_default().insert(place.split('#').next().unwrap_or(place));
        }
        if !reasons.is_empty() {
            section.push_str("\nChecks that fail, with the reason:\n\n");
            for (reason, places) in reasons {
                let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
                let _ = writeln!(section, "* {}: {reason}", places.join(", "));
            }
        }
        let (start, end) =
            (format!("<!-- results {} -->", self.version), format!("<!-- end {} -->", self.version));
        let page = match (page.find(&start), page.find(&end)) {
            (Some(from), Some(to)) if from < to => {
                format!("{}{start}\n{section}\n{}", &page[..from], &page[to..])
            }
            _ => format!("{}\n\n## JAX {}\n\n{start}\n{section}\n{end}\n", page.trim_end(), self.version),
        };
        fs::write(file, page).with_context(|| format!("writing {}", file.display()))
    }

    /// Writes all messages to a file. Returns an error for a failed check that is not listed, and for a listed failure that did not occur.
    pub(super) fn finish(&self, file: &Path, is_whole: bool) -> Result<()> {
        let mut messages = String::new();
        for (place, text, _) in &self.failures {
            let _ = writeln!(messages, "---- {place}\n{text}");
        }
        fs::write(file, messages).with_context(|| format!("writing {}", file.display()))?;
        println!("The messages of failed checks are in {}", file.display());
        let used: BTreeSet<usize> = self.failures.iter().filter_map(|(_, _, line)| *line).collect();
        // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so
        // stale exceptions are not reported.
        let stale: Vec<usize> = self.covered.difference(&used).copied().filter(|_| is_whole).collect();
        for &line in &stale {
            println!("   {}: listed as an exception, but every check passes", self.exceptions.line(line).0);
        }
        let unlisted = self.failures.iter().filter(|(_, _, line)| line.is_none()).count();
        match unlisted + stale.len() {
            0 => Ok(()),
            n => bail!("{n} unexpected failures or stale lines of tests/conformance/jax.txt"),
        }
    }
}

impl Row {
    /// Whether the program passes all of `checks` that were not skipped; `None` if all were skipped.
    fn outcome(&self, checks: &[&str]) -> Option<bool> {
        let mut outcome = None;
        for (name, word, _) in &self.checks {
            let is_lost = name == "process";
            if (is_lost || checks.contains(&name.as_str())) && word != "skipped" {
                outcome = Some(outcome.unwrap_or(true) && word == "passed");
            }
        }
        outcome
    }
}

/// The line of a message that names the error.
fn first_line(message: &str) -> &str {
    let names_error = |line: &&str| line.contains("error") || line.contains("Error");
    message.lines().find(names_error).or_else(|| message.lines().next()).unwrap_or_default()
}
