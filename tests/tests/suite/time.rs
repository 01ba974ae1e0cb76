//! Plans rank the strategies of training steps as the TPU compiler does. The compiler's figures are in `time.json`, so no compiler is needed.
//! `cargo xtask bench --only time --tpu` measures them again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use serde_json::Value;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::time::{Ranks, Strategy, figures, plan};
use shardc_tests::{program, shared};

/// Programs with more text are planned only by `cargo xtask bench --only time`.
const LARGE: u64 = 400_000;

/// The strategies of a program, with their plans; `None` if the program is too large for a test.
fn strategies(program: &Value) -> Option<Vec<Strategy>> {
    let text = |key: &str| program[key].as_str().unwrap();
    let file = shared()?.join(text("file"));
    if file.metadata().unwrap().len() > LARGE {
        return None;
    }
    let shardc = program::shardc().unwrap();
    let strategies = program["strategies"].as_object().unwrap().iter();
    let strategies =
        strategies.filter(|(_, of)| of["compiler"]["cycles"].is_number()).map(|(name, of)| Strategy {
            name: name.clone(),
            cycles: of["compiler"]["cycles"].as_f64().unwrap(),
            sent: of["compiler"]["sent"].as_f64().unwrap(),
            collectives: of["compiler"]["collectives"].as_f64().unwrap(),
            plan: plan(&shardc, &file, &of["options"], text("slice")).unwrap(),
        });
    Some(strategies.collect())
}

#[test]
fn plans_rank_strategies_as_the_tpu_compiler() {
    if shared().is_none() {
        skipped(Need::Shared, "the ranks of strategies, whose programs are in the shared data").unwrap();
        return;
    }
    let mut faults = String::new();
    for program in figures().unwrap()["programs"].as_array().unwrap() {
        let Some(strategies) = strategies(program) else { continue };
        // Pairs that are known to be ranked otherwise have a reason.
        let is_known = |pair: &str| program["why"][pair].is_string();
        let wrong = Ranks::of_steps(&strategies).wrong.into_iter();
        for (better, worse) in wrong.filter(|(better, worse)| !is_known(&format!("{better} {worse}"))) {
            writeln!(faults, "{}: {better} is not faster than {worse}", program["name"]).unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
