//! Runs StableHLO's interpreter tests as multi-device programs, each with random shardings in both SPMD modes, and compares the results
//! with those that the test expects.
//!
//! A program of `shardc-tests` runs the tests (see its module `interpret`), and announces each test before it starts. XLA may abort the
//! process on an invalid program. A new process then resumes after that program.
//!
//! Tests that cannot run, and expected failures, are listed in `tests/conformance/interpret.txt`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use shardc_filetest::{files, quick::xla_flags};

use super::{ConformanceArgs, exceptions::Exceptions, worker};
use xtask::{process, setup, workspace::Workspace};

/// The folders of interpreter tests.
const FOLDERS: [&str; 2] = ["tests/interpret", "testdata"];
/// Time limit of a program, because devices that deadlock never finish.
const PATIENCE: Duration = Duration::from_secs(150);

/// The outcomes of a test's programs.
#[derive(Default)]
struct TestTally {
    operations: Vec<String>,
    programs: usize,
    passed: usize,
    /// Messages of failed programs, with counts.
    failures: BTreeMap<String, usize>,
    /// The reason why the test was skipped, if it was.
    skipped: Option<String>,
}

/// Counts over the programs of all tests.
#[derive(Default)]
struct Totals {
    outcomes: BTreeMap<String, usize>,
    uneven: usize,
    /// Number of warnings, by code and operation.
    warnings: BTreeMap<String, usize>,
}

/// Runs the tests; prints the pass rate of each operation.
pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    setup::run(&[])?;
    let worker = process::step("build the runner of StableHLO's interpreter tests", || {
        worker::build(workspace, "interpret", args.release)
    })?;
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/interpret.txt"))?;
    let mut paths = Vec::new();
    for folder in FOLDERS {
        let dir = root.join(folder);
        let found = files(&dir, "mlir").with_context(|| format!("reading {}", dir.display()))?;
        paths.extend(found.iter().map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()));
    }
    paths.retain(|path| args.wants(&format!("conformance/stablehlo/{}", path.display())));
    let dir = workspace.scratch("interpret")?;
    let title = format!("run {} StableHLO interpreter test files with random shardings", paths.len());
    let (tests, totals) = process::step(&title, || {
        let mut session = Session {
            worker,
            root,
            dir: &dir,
            paths: &paths,
            tests: BTreeMap::new(),
            totals: Totals::default(),
        };
        session.run()?;
        Ok((session.tests, session.totals))
    })?;
    report(&tests, &totals, &exceptions, args, &dir)
}

fn report(
    tests: &BTreeMap<String, TestTally>,
    totals: &Totals,
    exceptions: &Exceptions,
    args: &ConformanceArgs,
    dir: &Path,
) -> Result<()> {
    let mut operations: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut covered, mut used) = (BTreeSet::new(), BTreeSet::new());
    let (mut whole, mut ran, mut wrong, mut listed) = (0, 0, Vec::new(), Vec::new());
    for (name, test) in tests {
        for operation in &test.operations {
            let (passed, programs) = operations.entry(operation).or_default();
            *passed += test.passed;
            *programs += test.programs;
        }
        let (path, function) = name.split_once('#').unwrap_or((name, ""));
        let exception = exceptions.find(path, function);
        covered.extend(exception);
        ran += usize::from(test.skipped.is_none());
        let failures: Vec<String> = match &test.skipped {
            Some(why) => vec![format!("{name}: cannot be run: {why}")],
            None => test
                .failures
                .iter()
                .map(|(message, count)| format!("{name}: {count} of {} programs: {message}", test.programs))
                .collect(),
        };
        if failures.is_empty() {
            whole += 1;
            continue;
        }
        used.extend(exception);
        match exception {
            Some(line) => listed.push((failures, exceptions.line(line).1)),
            None => wrong.extend(failures),
        }
    }
    println!("\npassed    of  programs with");
    for (operation, (passed, programs)) in &operations {
        println!("{passed:>6} {programs:>5}  {operation}");
    }
    let programs: usize = tests.values().map(|t| t.programs).sum();
    let passed: usize = tests.values().map(|t| t.passed).sum();
    println!("{passed:>6} {programs:>5}  total, {} of them with uneven shardings", totals.uneven);
    println!(
        "\nTests: {whole} of {} passed with all shardings, {} could not be run",
        tests.len(),
        tests.len() - ran
    );
    for (outcome, count) in &totals.outcomes {
        println!("{count:>6}  {outcome}");
    }
    if !totals.warnings.is_empty() {
        println!("\nWarnings by operation:");
        for (warning, count) in &totals.warnings {
            println!("{count:>6}  {warning}");
        }
    }
    println!("\nExpected failures, listed in tests/conformance/interpret.txt: {} tests", listed.len());
    for (failures, reason) in listed.iter().filter(|_| args.verbose) {
        failures.iter().for_each(|line| println!("   {line} [{reason}]"));
    }
    for line in &wrong {
        println!("   {line}");
    }
    println!("Failed programs are in {}", dir.display());
    // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so stale
    // exceptions are not reported.
    let stale = covered.difference(&used).filter(|_| args.filters.is_empty());
    for &line in stale.clone() {
        println!("   {}: listed as an exception, but nothing fails", exceptions.line(line).0);
    }
    match wrong.len() + stale.count() {
        0 => Ok(()),
        n => bail!("{n} unexpected failures or stale lines of tests/conformance/interpret.txt"),
    }
}

/// Restarts the worker until all files are done.
struct Session<'a> {
    worker: PathBuf,
    root: &'a Path,
    dir: &'a Path,
    paths: &'a [PathBuf],
    tests: BTreeMap<String, TestTally>,
    totals: Totals,
}

impl Session<'_> {
    fn run(&mut self) -> Result<()> {
        for old in fs::read_dir(self.dir).into_iter().flatten().flatten() {
            // A file that cannot be removed is overwritten later.
            let _ = fs::remove_file(old.path());
        }
        let mut after = None;
        loop {
            let (child, lines, errors) = self.start(after.as_deref())?;
            let begun = self.follow(&lines);
            let done = finish(child)?;
            let Some(begun) = begun else {
                if done {
                    return Ok(());
                }
                bail!(
                    "the runner of interpreter tests failed: {}",
                    fs::read_to_string(errors).unwrap_or_default()
                );
            };
            if after.as_ref() == Some(&begun) {
                bail!("the runner of interpreter tests crashed twice at {begun}");
            }
            let message = last_words(&fs::read_to_string(errors).unwrap_or_default());
            self.crashed(&begun, &message);
            after = Some(begun);
        }
    }

    fn start(&self, after: Option<&str>) -> Result<(Child, Receiver<String>, PathBuf)> {
        let errors = self.dir.join("errors.txt");
        let mut command = Command::new(&self.worker);
        // Without fusion emitters, XLA does not support the maximum of complex numbers.
        let flags = format!("{} --xla_cpu_use_fusion_emitters=true", xla_flags());
        command.current_dir(self.root).env("XLA_FLAGS", flags).arg("--keep").arg(self.dir);
        if let Some(after) = after {
            command.args(["--after", after]);
        }
        command.args(self.paths).stdout(Stdio::piped()).stderr(File::create(&errors)?);
        let mut child = command.spawn().with_context(|| format!("starting {}", self.worker.display()))?;
        let (send, lines) = channel();
        let out = child.stdout.take().context("the runner of interpreter tests has no standard output")?;
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok((child, lines, errors))
    }

    /// Records the worker's messages. Returns the program that was running when the output ended, if any.
    fn follow(&mut self, lines: &Receiver<String>) -> Option<String> {
        let mut begun = None;
        while let Ok(line) = lines.recv_timeout(PATIENCE) {
            let words: Vec<&str> = line.split('\t').collect();
            match words[..] {
                ["test", name, operations] => {
                    let operations = operations.split(',').filter(|name| !name.is_empty());
                    self.test(name).operations = operations.map(str::to_owned).collect();
                }
                ["skip", name, why] => {
                    begun = None;
                    self.test(name).skipped = Some(why.to_owned());
                }
                ["begin", id] => begun = Some(id.to_owned()),
                ["warning", _, message] => {
                    *self.totals.warnings.entry(about(message)).or_default() += 1;
                }
                ["end", id, outcome, divides, why] => {
                    begun = None;
                    self.totals.uneven += usize::from(divides == "uneven");
                    self.ended(id, outcome, why);
                }
                _ => {}
            }
        }
        begun
    }

    fn test(&mut self, name: &str) -> &mut TestTally {
        self.tests.entry(name.to_owned()).or_default()
    }

    fn ended(&mut self, id: &str, outcome: &str, why: &str) {
        *self.totals.outcomes.entry(outcome.to_owned()).or_default() += 1;
        let mut words = id.rsplitn(3, ' ');
        let (mode, number, name) = (words.next(), words.next(), words.next());
        let test = self.test(name.unwrap_or(id));
        test.programs += 1;
        if why.is_empty() {
            test.passed += 1;
        } else {
            let which = format!("{} {}", number.unwrap_or_default(), mode.unwrap_or_default());
            let known = test.failures.keys().find(|message| message.ends_with(why)).cloned();
            *test.failures.entry(known.unwrap_or(format!("{outcome} ({which}): {why}"))).or_default() += 1;
        }
    }

    fn crashed(&mut self, id: &str, message: &str) {
        if id.contains(' ') {
            self.ended(id, "crashed", &format!("the back end aborted the process: {message}"));
        } else {
            self.test(id).skipped =
                Some(format!("on one device: the back end aborted the process: {message}"));
        }
    }
}

/// Whether the worker exits successfully. A worker that does not exit in time is killed.
fn finish(mut child: Child) -> Result<bool> {
    for _ in 0..50 {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}

/// The last message of a process that XLA aborted.
fn last_words(errors: &str) -> String {
    let fatal = errors.lines().find(|line| line.contains("Check failed") || line.starts_with('F'));
    let line = fatal.or_else(|| errors.lines().last()).unwrap_or("nothing");
    // Removes the time and the process id.
    line.split_once("] ").map_or(line, |(_, rest)| rest).to_owned()
}

/// The code and the operation of a warning.
fn about(message: &str) -> String {
    message.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_reported_with_the_last_message_of_xla() {
        let errors = "W0000 10:00 7 a.cc:1] slow\nF0000 10:00 7 b.cc:2] Check failed: x\n*** stack";
        assert_eq!(last_words(errors), "Check failed: x");
        assert_eq!(last_words(""), "nothing");
        assert_eq!(about("SH0310: stablehlo.fft needs dimension 0"), "SH0310: stablehlo.fft");
    }

    #[test]
    fn failures_with_equal_messages_are_counted_together() {
        let root = Path::new(".");
        let (tests, totals) = (BTreeMap::new(), Totals::default());
        let mut session = Session { worker: PathBuf::new(), root, dir: root, paths: &[], tests, totals };
        session.ended("a.mlir#f 0 replica", "equal", "");
        session.ended("a.mlir#f 1 replica", "wrong", "2 instead of 1");
        session.ended("a.mlir#f 1 partition", "wrong", "2 instead of 1");
        session.crashed("a.mlir#g", "x");
        let f = &session.tests["a.mlir#f"];
        assert_eq!((f.passed, f.programs), (1, 3));
        assert_eq!(
            f.failures.iter().collect::<Vec<_>>(),
            [(&"wrong (1 replica): 2 instead of 1".to_owned(), &2)]
        );
        assert!(session.tests["a.mlir#g"].skipped.is_some());
    }
}
