//! Mutations of partitions of the programs of the checkout and of the corpora, and what the prover says about them.
//!
//! Programs are partitioned by the library. Those that the prover cannot run in exact arithmetic are left out, since it is then unknown
//! whether a damage changes a value. All choices depend on the seed and the number of the case.

#![allow(clippy::print_stdout, reason = "the output of a program")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use shardc::Compiler;
use shardc::prove::{Options, Verdict, boundary};
use shardc_filetest::{files, root, shared};
use shardc_mutate::{Class, Damage, Random, Rewrite, Subject, Tally, Trial};

/// The number of programs that are mutated at the same time.
const SIDE_BY_SIDE: usize = 2;
/// The most elements that each device may compute in a test.
const WORK: u64 = 1 << 24;
/// The longest text of a program.
const LONGEST: u64 = 1 << 19;
/// The number of tries to find a mutation that a program admits.
const TRIES: u64 = 64;

/// The cases to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of cases.
    pub cases: u64,
    /// The number of the first case.
    pub first: u64,
    /// The seed.
    pub seed: u64,
    /// A class of mutations, `damages` or `rewrites`; by default, every second case is a damage.
    pub only: Option<String>,
    /// Whether the place of a damage is found with the certificate of the partition.
    pub certificate: bool,
    /// The folders of the programs.
    pub folders: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Settings {
        let corpora = shared().map(|dir| dir.join("corpus"));
        let folders = std::iter::once(root().join("programs")).chain(corpora).collect();
        Settings { cases: 2000, first: 0, seed: 1, only: None, certificate: true, folders }
    }
}

/// Runs the cases, and prints misses and counts. Returns whether the prover was never wrong.
///
/// # Errors
/// The options are wrong, or no program can be used.
pub fn run(settings: &Settings) -> Result<bool, String> {
    let classes = classes(settings.only.as_deref())?;
    let mut paths = Vec::new();
    for folder in &settings.folders {
        let all = files(folder, "mlir").map_err(|error| format!("{}: {error}", folder.display()))?;
        paths.extend(all.into_iter().filter(|path| path.metadata().is_ok_and(|data| data.len() < LONGEST)));
    }
    let subjects = side_by_side(paths.len(), |at| subject(&paths[at], settings.certificate));
    let subjects: Vec<(Subject, String, Verdict)> = subjects.into_iter().flatten().collect();
    let proven = subjects.iter().filter(|(.., verdict)| *verdict == Verdict::Proven).count();
    println!("{} of {} programs are used, of which {proven} are proven", subjects.len(), paths.len());
    if subjects.is_empty() {
        return Err("no program can be used".to_owned());
    }
    let tally = Mutex::new((Tally::default(), 0u64));
    let next = AtomicU64::new(settings.first);
    let end = settings.first.saturating_add(settings.cases);
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= end {
                        break;
                    }
                    let found = trial(&subjects, &classes, settings.seed, case);
                    let mut all = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    match found {
                        Ok((subject, trial)) => {
                            all.0.add(&trial);
                            if trial.is_missed() || trial.untested.is_some() {
                                println!("{}", line(case, subject, &trial));
                            }
                        }
                        Err(error) => println!("case {case}: {error}"),
                    }
                    all.1 += 1;
                    if all.1.is_multiple_of(500) {
                        println!("{} of {} cases", all.1, settings.cases);
                    }
                }
            });
        }
    });
    let (tally, _) = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{tally}");
    Ok(tally.total(true).proven == 0 && tally.total(false).refuted == 0)
}

/// Runs `count` jobs on some threads; the results are in order.
fn side_by_side<T: Send>(count: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    let result = job(at);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn classes(only: Option<&str>) -> Result<Vec<Class>, String> {
    let damages = || Damage::ALL.map(Class::Damage).to_vec();
    let rewrites = || Rewrite::ALL.map(Class::Rewrite).to_vec();
    Ok(match only {
        None => damages().into_iter().chain(rewrites()).collect(),
        Some("damages") => damages(),
        Some("rewrites") => rewrites(),
        Some(name) => {
            let all = damages().into_iter().chain(rewrites());
            let found: Vec<Class> = all.filter(|class| class.name() == name).collect();
            if found.is_empty() {
                return Err(format!("unknown class {name}"));
            }
            found
        }
    })
}

fn options() -> Options {
    Options { test_work: Some(WORK), ..Options::default() }
}

/// The program of a file, the text of its partition, and the verdict of the partition itself.
fn subject(path: &Path, certificate: bool) -> Option<(Subject, String, Verdict)> {
    let bytes = std::fs::read(path).ok()?;
    let original = Compiler::read(&bytes).ok()?;
    let output = Compiler::new().partition(&bytes).ok()?;
    let text = output.text();
    let partitioned = Compiler::read(text.as_bytes()).ok()?;
    let boundary = boundary(&output.manifest()).ok()?;
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let mut subject = Subject { name, original, partitioned, boundary, certificate: None };
    let options = Options { always_test: true, ..options() };
    let report = if certificate { subject.certify(&options) } else { subject.check(&options) }.ok()?;
    let is_equal = matches!(report.verdict, Verdict::Proven | Verdict::Tested) && report.untested.is_none();
    is_equal.then_some((subject, text, report.verdict))
}

/// The trial of a case.
fn trial<'s>(
    subjects: &'s [(Subject, String, Verdict)],
    classes: &[Class],
    seed: u64,
    case: u64,
) -> Result<(&'s (Subject, String, Verdict), Trial), String> {
    for again in 0..TRIES {
        let mut random = Random::new((seed << 40) ^ (case << 8) ^ again);
        let Some(entry) = random.choose(subjects) else { break };
        let found = match random.choose(classes) {
            Some(Class::Damage(damage)) => entry.0.damage(*damage, &mut random, &options()),
            Some(Class::Rewrite(rewrite)) => {
                let count = 1 + random.below(8);
                entry.0.rewrite(*rewrite, count, &mut random, &options())
            }
            None => break,
        };
        match found {
            Ok(Some(trial)) => return Ok((entry, trial)),
            Ok(None) => {}
            Err(error) => return Err(format!("{}: {error}", entry.0.name)),
        }
    }
    Err("no program admits the mutation".to_owned())
}

/// A trial as a line.
fn line(case: u64, (subject, text, _): &(Subject, String, Verdict), trial: &Trial) -> String {
    let number =
        |offset: u32| text.get(..offset as usize).map_or(0, |before| before.matches('\n').count() + 1);
    let at = trial.offset.map(|offset| format!(" at line {}", number(offset))).unwrap_or_default();
    let first = trial.first.map(|offset| format!(", first place at line {}", number(offset)));
    let reason = trial.untested.as_ref().map(|reason| format!(", not run: {reason}")).unwrap_or_default();
    format!(
        "case {case}, {}: {} of {}{at}: {:?}, place {:?}{}{reason}",
        subject.name,
        trial.class.name(),
        trial.operation,
        trial.verdict,
        trial.found,
        first.unwrap_or_default()
    )
}
