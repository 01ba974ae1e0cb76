//! Outcomes of all comparisons: counts, a line for each unexpected outcome, and a file with all messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::exceptions::Exceptions;

/// The outcome of a comparison.
pub(super) enum Outcome {
    Equal,
    /// The results are equal in double precision, but in the program's own precision their difference exceeds the tolerance.
    Rounding,
    Wrong(String),
    /// shardc rejects the program with this message.
    Refused(String),
    /// The back end rejects the program or fails to execute it.
    Failed(String),
    Crashed(String),
}

impl Outcome {
    /// Parses a worker's answer.
    pub(super) fn of(answer: &Value) -> Result<Outcome> {
        let message = || answer["said"].as_str().unwrap_or_default().to_owned();
        Ok(match answer["outcome"].as_str() {
            Some("equal") if answer["rounding"].as_u64().is_some_and(|n| n > 0) => Outcome::Rounding,
            Some("equal") => Outcome::Equal,
            Some("wrong") => Outcome::Wrong(message()),
            Some("refused") => Outcome::Refused(message()),
            Some("failed") => Outcome::Failed(message()),
            _ => bail!("invalid answer from the conformance worker: {answer}"),
        })
    }

    /// The index of the outcome in [`WORDS`], and its message, which may be empty.
    fn parts(&self) -> (usize, &str) {
        match self {
            Outcome::Equal => (0, ""),
            Outcome::Rounding => (1, ""),
            Outcome::Wrong(message) => (2, message),
            Outcome::Refused(message) => (3, message),
            Outcome::Failed(message) => (4, message),
            Outcome::Crashed(message) => (5, message),
        }
    }
}

/// Names of the outcomes, by the index that [`Outcome::parts`] returns.
const WORDS: [&str; 6] = ["equal", "equal in double precision", "wrong", "rejected", "failed", "crashed"];

/// One comparison.
pub(super) struct Case<'c> {
    pub(super) path: &'c str,
    /// The mesh: `own` or `4x2`. For a comparison by `check_partition.py`, it follows the word `check`, as in `check 4x2`.
    pub(super) part: String,
    pub(super) mode: &'static str,
    pub(super) time: Duration,
}

/// All comparisons so far.
pub(super) struct Report<'e> {
    exceptions: &'e Exceptions,
    is_verbose: bool,
    /// The number of cases with each outcome, in the order of [`WORDS`], keyed by folder and by mesh (own or other).
    counts: BTreeMap<(String, &'static str), [usize; 6]>,
    wrong: Vec<String>,
    listed: usize,
    covered: BTreeSet<usize>,
    used: BTreeSet<usize>,
    messages: String,
    times: Vec<(Duration, String)>,
}

impl<'e> Report<'e> {
    pub(super) fn new(exceptions: &'e Exceptions, is_verbose: bool) -> Report<'e> {
        Report {
            exceptions,
            is_verbose,
            counts: BTreeMap::new(),
            wrong: Vec::new(),
            listed: 0,
            covered: BTreeSet::new(),
            used: BTreeSet::new(),
            messages: String::new(),
            times: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, case: &Case<'_>, outcome: &Outcome) {
        let folder = case.path.split('/').take(2).collect::<Vec<_>>().join("/");
        let kind = match (&*case.part, case.part.strip_prefix("check ")) {
            ("own", _) => "own mesh",
            (_, None) => "other meshes",
            (_, Some("own")) => "own mesh, check_partition.py",
            (_, Some(_)) => "other meshes, check_partition.py",
        };
        let (column, text) = outcome.parts();
        self.counts.entry((folder, kind)).or_default()[column] += 1;
        let name = format!("{}#{} ({})", case.path, case.part, case.mode);
        self.times.push((case.time, name.clone()));
        let exception = self.exceptions.find(case.path, &case.part);
        self.covered.extend(exception);
        if matches!(outcome, Outcome::Equal | Outcome::Rounding) {
            return;
        }
        let report = format!("---- {name}: {}\n{text}\n", WORDS[column]);
        if self.is_verbose {
            println!("{report}");
        }
        self.messages.push_str(&report);
        match exception {
            Some(line) => {
                self.used.insert(line);
                self.listed += 1;
            }
            None => {
                let line = format!("{name}: {}: {}", WORDS[column], first_line(text));
                println!("   {line}");
                self.wrong.push(line);
            }
        }
    }

    /// Prints the counts.
    pub(super) fn finish(mut self, dir: &Path, is_whole: bool) -> Result<()> {
        let mut table = String::new();
        for ((folder, kind), counts) in &self.counts {
            let total: usize = counts.iter().sum();
            let words = WORDS.iter().zip(counts).filter(|(_, n)| **n > 0);
            let words: Vec<String> = words.map(|(word, n)| format!("{n} {word}")).collect();
            let _ = writeln!(table, "   {folder}, {kind}: {total} runs, {}", words.join(", "));
        }
        print!("\n{table}");
        println!("   expected differences: {}; unexpected differences: {}", self.listed, self.wrong.len());
        self.times.sort();
        for (time, name) in self.times.iter().rev().take(3) {
            println!("   slowest: {:.1} s, {name}", time.as_secs_f64());
        }
        let file = dir.join("said.txt");
        fs::write(&file, &self.messages).with_context(|| format!("writing {}", file.display()))?;
        println!("the messages of the runs that are not equal are in {}", file.display());
        self.wrong.sort();
        for line in &self.wrong {
            println!("   {line}");
        }
        // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so
        // stale exceptions are not reported.
        let stale: Vec<usize> = self.covered.difference(&self.used).copied().filter(|_| is_whole).collect();
        for &line in &stale {
            println!("   {}: listed as an exception, but everything is equal", self.exceptions.line(line).0);
        }
        match self.wrong.len() + stale.len() {
            0 => Ok(()),
            n => bail!("{n} unexpected failures or stale lines of tests/conformance/partition.txt"),
        }
    }
}

/// The line of a message that names the error.
fn first_line(message: &str) -> &str {
    let is_telling = |line: &&str| line.contains("error") || line.contains("Error");
    message.lines().find(is_telling).or_else(|| message.lines().next()).unwrap_or_default()
}
