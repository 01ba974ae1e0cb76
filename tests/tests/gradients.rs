//! Differentiates random programs. Checks that JVPs equal finite differences, and that VJPs agree with JVPs, also for second derivatives.
//! Checks that a partitioned gradient equals the gradient on one device. A few functions of the shared data are checked in the same way
//! with random shardings; `cargo xtask conformance gradients` checks all functions.
//!
//! `cargo test -p shardc-tests --test gradients` runs a few cases, `cargo xtask fuzz gradients --cases 10000` many more. A failed case is
//! run again by its number: `SHARDC_SEED=7 SHARDC_FIRST=1234 SHARDC_CASES=1`.

#[path = "drawn/mod.rs"]
mod drawn;
#[path = "drawn/recipes.rs"]
mod recipes;

use std::env;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Trial};
use shardc::{Error, SpmdMode};
use shardc_ir::Class;
use shardc_runtime::{Client, plugin};
use shardc_tests::devices::client;
use shardc_tests::gradients::{self, Wrong, pairs::Pair};
use shardc_tests::quick::xla_flags_for_gradients;
use shardc_tests::random::Recipe;
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

use drawn::{Failure, Outcome, caught, fails, mode, say, sweep};
use recipes::recipe;

/// Number of programs in a plain test run.
const CASES: u64 = 50;

/// Parts of error messages that report limitations of XLA's CPU back end.
const BACK_END: &[&str] = &[
    "fft_thunk.cc",
    "Unsupported element type for DotThunk",
    // XLA's propagation marks a loop-carried value as replicated, although all values are marked as manual.
    "Inconsistent while sharding",
];

static SMOOTH: AtomicUsize = AtomicUsize::new(0);
static ROUGH: AtomicUsize = AtomicUsize::new(0);

fn check(client: &Client, recipe: &Recipe, case: u64) -> Result<Outcome, Failure> {
    let text = recipe.text();
    let partitioned = (case % 5 < 2).then(|| mode(case / 5));
    caught(|| match gradients::check(client, &text, case, case % 4 == 3, partitioned) {
        Ok(compared) => {
            SMOOTH.fetch_add(compared.smooth, Ordering::Relaxed);
            ROUGH.fetch_add(compared.rough, Ordering::Relaxed);
            Ok(Outcome::Equal)
        }
        Err(Wrong::Values(text)) => {
            let kind: String = text.split([':', '(']).next().unwrap_or_default().to_owned();
            let kind = if kind.starts_with("result ") { "against differences".to_owned() } else { kind };
            fails(kind, text)
        }
        Err(Wrong::BackEnd(_)) => {
            Ok(Outcome::Refused("changed by XLA's rewriting of several operations".to_owned()))
        }
        Err(Wrong::Refused(error)) => {
            let shown = error.render("random.mlir", &text, false);
            let first = shown.lines().next().unwrap_or_default().to_owned();
            let unsupported = matches!(&error, Error::Diagnostics(all)
                if all.iter().all(|d| d.class == Class::Unsupported));
            match BACK_END.iter().find(|known| shown.contains(**known)) {
                Some(known) => Ok(Outcome::Refused((*known).to_owned())),
                None if unsupported => Ok(Outcome::Refused(first)),
                None => fails(first.chars().take(90).collect::<String>(), shown),
            }
        }
    })
}

/// Functions of `gradients` in the shared data.
const SHARED: [&str; 5] =
    ["conv_batch_groups", "scatter_min_max", "scan_nested", "sort_payload", "attention_blockwise_scan"];

/// A trial for each function of the shared data, or a trial that reports that the data set is missing.
fn shared_trials() -> Vec<Trial> {
    let missing = |reason: String| Trial::test("shared", move || Ok(skipped(Need::Shared, &reason)?));
    let Some(dir) = shared().map(|dir| dir.join("gradients")).filter(|dir| dir.is_dir()) else {
        return vec![missing(format!("{} functions of the shared data, which is not here", SHARED.len()))];
    };
    let pairs = match Pair::all(&dir) {
        Ok(pairs) => pairs,
        Err(error) => return vec![Trial::test("shared", || Err(error.into()))],
    };
    let chosen = pairs.into_iter().filter(|pair| SHARED.contains(&&*pair.name));
    chosen
        .map(|pair| Trial::test(format!("gradients of {}", pair.name), move || Ok(of_pair(&pair)?)))
        .collect()
}

fn of_pair(pair: &Pair) -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let shown = |wrong: Wrong| match wrong {
        Wrong::Values(text) | Wrong::BackEnd(text) => text,
        Wrong::Refused(error) => error.render(&pair.name, "", false),
    };
    pair.derivatives(&client, 1).map_err(shown)?;
    let reference = pair.reference(&client).map_err(shown)?;
    for seed in 0..2 {
        for mode in [SpmdMode::Replica, SpmdMode::Partition] {
            let done = pair.partitioned(&client, &reference, mode, seed, None);
            done.map_err(|wrong| format!("seed {seed}, {mode:?}: {}", shown(wrong)))?;
        }
    }
    Ok(())
}

/// Runs this program again with XLA's fastest compilation, unless the environment has XLA flags, because compilation takes most of the
/// time.
fn quickly() -> Option<ExitCode> {
    if env::var_os("XLA_FLAGS").is_some() {
        return None;
    }
    let mut again = Command::new(env::current_exe().ok()?);
    again.args(env::args_os().skip(1)).env("XLA_FLAGS", xla_flags_for_gradients());
    let is_well = again.status().ok()?.success();
    Some(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn main() -> ExitCode {
    if let Some(code) = quickly() {
        return code;
    }
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trial = Trial::test("random gradients", || {
        sweep("gradients", CASES, &recipe(true), Recipe::text, check)?;
        let (smooth, rough) = (SMOOTH.load(Ordering::Relaxed), ROUGH.load(Ordering::Relaxed));
        say(&format!("{smooth} derivatives equal differences; {rough} are at corners or no numbers"));
        Ok(())
    });
    let mut trials = shared_trials();
    trials.push(trial);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
