//! Generates random cases from a seed and a number, and shrinks cases that fail.

use std::{
    collections::BTreeMap,
    env,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use shardc::SpmdMode;
use shardc_runtime::Client;
use shardc_tests::devices::client;

/// Maximum number of shrinking steps of a failing program, unless `SHARDC_SHRINKS` sets it.
const SHRINKS: u64 = 120;

/// The outcome of a case that did not fail.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Equal,
    Refused(String),
}

pub(crate) struct Failure {
    /// The kind of the failure, which similar failures share.
    pub(crate) kind: String,
    pub(crate) details: String,
}

pub(crate) fn fails<T>(kind: impl Into<String>, details: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { kind: kind.into(), details: details.into() })
}

/// The SPMD mode of a case.
pub(crate) fn mode(case: u64) -> SpmdMode {
    if case.is_multiple_of(2) { SpmdMode::Replica } else { SpmdMode::Partition }
}

/// Runs a check and returns its outcome; a panic counts as a failure.
pub(crate) fn caught(check: impl FnOnce() -> Result<Outcome, Failure>) -> Result<Outcome, Failure> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        fails("panic", message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
    })
}

pub(crate) fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) fn say(text: &str) {
    // Writes to standard error directly, because the test harness hides the output of passing tests.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn runner(seed: u64, case: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&case.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Generates cases, and passes each with its number to `check`. Failed cases are shrunk and written to the folder `name`, as the text that
/// `show` returns.
///
/// # Errors
/// Some cases failed, or more than a quarter of them were rejected.
pub(crate) fn sweep<R>(
    name: &str,
    cases: u64,
    drawn: &impl Strategy<Value = R>,
    show: impl Fn(&R) -> String,
    check: impl Fn(&Client, &R, u64) -> Result<Outcome, Failure>,
) -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let (cases, seed, first) =
        (number("SHARDC_CASES", cases), number("SHARDC_SEED", 1), number("SHARDC_FIRST", 0));
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for case in first..first + cases {
        if case > first && case % 500 == 0 {
            say(&format!("{} of {cases} cases", case - first));
        }
        let mut tree = drawn.new_tree(&mut runner(seed, case)).map_err(|e| e.to_string())?;
        // The file contains the running case, because the back end may abort the process.
        let running =
            |drawn: &R| std::fs::write(dir.join("running.mlir"), show(drawn)).map_err(|e| e.to_string());
        running(&tree.current())?;
        let mut failure = match check(&client, &tree.current(), case) {
            Ok(Outcome::Equal) => continue,
            Ok(Outcome::Refused(why)) => {
                *refused.entry(why).or_default() += 1;
                continue;
            }
            Err(failure) => failure,
        };
        let mut smallest = tree.current();
        let known = failures.entry(failure.kind.clone()).or_default();
        known.push(case);
        if known.len() > 3 {
            continue;
        }
        for _ in 0..number("SHARDC_SHRINKS", SHRINKS) {
            if !tree.simplify() {
                break;
            }
            loop {
                running(&tree.current())?;
                match check(&client, &tree.current(), case) {
                    Err(new) if new.kind == failure.kind => {
                        (failure, smallest) = (new, tree.current());
                        break;
                    }
                    _ if tree.complicate() => {}
                    _ => break,
                }
            }
        }
        let file = dir.join(format!("seed{seed}-case{case}.mlir"));
        std::fs::write(&file, show(&smallest)).map_err(|e| e.to_string())?;
        say(&format!(
            "case {case} ({:?}, {}): {}\n{}\n{}\n",
            mode(case),
            file.display(),
            failure.kind,
            show(&smallest),
            failure.details
        ));
    }
    let refusals: usize = refused.values().sum();
    say(&format!("{cases} cases, seed {seed}: {refusals} refused {refused:?}; failed: {failures:?}"));
    if !failures.is_empty() {
        return Err(format!("failed: {failures:?}"));
    }
    // The ratio is not meaningful for a few cases.
    if refusals as u64 * 4 > cases && cases >= 20 {
        return Err(format!("too many programs are refused: {refused:?}"));
    }
    Ok(())
}
