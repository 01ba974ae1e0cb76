//! The process that runs cases. It announces each case before the case starts.
//!
//! Lines on standard output are words separated by tabs: `begin CASE`; `end CASE MICROSECONDS PASSED REFUSED`; `found CASE KIND`. After a
//! `found` line, the finding is written to a file.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::outcome::quietly;
use super::reduce::reduced;
use super::{Finding, From, Fuzzer, Sources, Trace};

/// Number of saved inputs per kind of finding.
const KEPT: usize = 2;
/// Time limit for shrinking an input.
const REDUCE: Duration = Duration::from_secs(6);

/// The cases of a worker: `first`, `first + step`, ... below `end`.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The fuzzer.
    pub fuzzer: &'a Fuzzer,
    /// The seed of inputs, in addition to the case number.
    pub seed: u64,
    /// The first case.
    pub first: u64,
    /// The end of the case range (exclusive).
    pub end: u64,
    /// The difference between the numbers of consecutive cases.
    pub step: u64,
    /// The programs to use.
    pub from: From,
    /// The folder for findings.
    pub dir: &'a Path,
}

impl std::fmt::Debug for Fuzzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Runs cases in a thread with the default stack size of threads, which is smaller than that of a process.
///
/// # Errors
/// Programs cannot be read, or standard output is closed.
pub fn work(work: &Work<'_>) -> io::Result<()> {
    let sources = Sources::load(work.from)?;
    let mut case = work.first;
    while case < work.end {
        say(&["begin", &case.to_string()])?;
        let begun = Instant::now();
        let mut trace = Trace::default();
        let drawn = drawn(work, &sources, case);
        let input = drawn.as_deref().unwrap_or_default();
        fs::write(running(work.dir, case % work.step), input)?;
        let found = match &drawn {
            Ok(input) => work.fuzzer.check(input, &mut trace),
            Err(finding) => Err(finding.clone()),
        };
        let micros = begun.elapsed().as_micros().to_string();
        if let Err(finding) = found {
            say(&["found", &case.to_string(), &finding.kind])?;
            keep(work, case, input, &finding)?;
        }
        let refused = trace.refused.unwrap_or_default();
        say(&["end", &case.to_string(), &micros, &trace.passed.join(","), &refused])?;
        case += work.step;
    }
    Ok(())
}

/// Generates the input of a case. A panic of the fuzzer during generation is a finding without an input.
fn drawn(work: &Work<'_>, sources: &Sources, case: u64) -> Result<Vec<u8>, Finding> {
    quietly(|| work.fuzzer.input(sources, work.seed, case))
        .map_err(|finding| Finding::new(format!("drawing the input: {}", finding.kind), finding.details))
}

/// The file with the current input of a worker, in case the input crashes it.
pub(crate) fn running(dir: &Path, job: u64) -> PathBuf {
    dir.join(format!("running-{job}"))
}

/// Writes a line to standard output, and flushes it.
fn say(words: &[&str]) -> io::Result<()> {
    let line: Vec<String> = words.iter().map(|w| w.replace(['\t', '\n'], " ")).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.join("\t"))?;
    out.flush()
}

/// Saves a finding with its shrunk input, unless [`KEPT`] findings of the same kind are already saved.
fn keep(work: &Work<'_>, case: u64, input: &[u8], finding: &Finding) -> io::Result<()> {
    let mut stays = |rest: &[u8]| {
        let mut trace = Trace::default();
        work.fuzzer.check(rest, &mut trace).is_err_and(|other| other.kind == finding.kind)
    };
    if is_known(work.dir, &finding.kind) {
        return Ok(());
    }
    // Inputs of fuzzers that run programs are not shrunk: they are already small, and compile slowly.
    let time = if work.fuzzer.runs { Duration::ZERO } else { REDUCE };
    let smaller = reduced(input, Instant::now() + time, &mut stays);
    write(work, case, &smaller, finding)
}

/// Whether enough findings of the kind `kind` are saved.
pub(crate) fn is_known(dir: &Path, kind: &str) -> bool {
    let prefix = format!("{}.", slug(kind));
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let alike = names.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&prefix) && name.ends_with(".txt")
    });
    alike.count() >= KEPT
}

/// Writes an input, and a description of the finding with the command to reproduce it.
pub(crate) fn write(work: &Work<'_>, case: u64, input: &[u8], finding: &Finding) -> io::Result<()> {
    fs::create_dir_all(work.dir)?;
    let stem = format!("{}.{}-{case}", slug(&finding.kind), work.seed);
    let file = work.dir.join(format!("{stem}.{}", work.fuzzer.extension));
    fs::write(&file, input)?;
    let name = work.fuzzer.name;
    let text = format!(
        "{}\n\n{}\n\nagain: cargo xtask fuzz {name} --file {}\nas it was drawn: cargo xtask fuzz {name} --seed {} --case {case}\n",
        finding.kind,
        finding.details,
        file.display(),
        work.seed
    );
    fs::write(work.dir.join(format!("{stem}.txt")), text)
}

/// Converts the kind of a finding to a part of a file name.
fn slug(kind: &str) -> String {
    let words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-").to_lowercase();
    slug.truncate(80);
    slug
}

/// Runs one input and prints the outcome; returns true if there was no finding.
///
/// # Errors
/// Standard output is closed.
pub fn replay(fuzzer: &Fuzzer, input: &[u8]) -> io::Result<bool> {
    let mut trace = Trace::default();
    let begun = Instant::now();
    let found = fuzzer.check(input, &mut trace);
    let mut out = io::stdout().lock();
    writeln!(out, "passed: {}; {} ms", trace.passed.join(", "), begun.elapsed().as_millis())?;
    if let Some(refused) = trace.refused {
        writeln!(out, "refused: {refused}")?;
    }
    match found {
        Ok(()) => writeln!(out, "nothing found")?,
        Err(Finding { kind, details }) => {
            writeln!(out, "found: {kind}\n{details}")?;
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_drawing_is_reported_with_its_place() {
        let fuzzer = Fuzzer {
            name: "wrong",
            about: "",
            extension: "mlir",
            runs: false,
            draw: |_, _| panic!("nothing to draw"),
            run: |_, _| Ok(()),
        };
        let dir = Path::new("");
        let work = Work { fuzzer: &fuzzer, seed: 1, first: 0, end: 1, step: 1, from: From::Checkout, dir };
        let sources = Sources::load(From::Checkout).unwrap();
        let finding = drawn(&work, &sources, 0).unwrap_err();
        assert!(
            finding.kind.starts_with("drawing the input: panic at tests/src/fuzz/worker.rs:"),
            "{finding:?}"
        );
        assert!(finding.details.starts_with("nothing to draw"), "{finding:?}");
    }
}
