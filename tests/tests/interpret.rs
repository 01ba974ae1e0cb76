//! Runs interpreter tests with random shardings: two tests in this file, and a sample of StableHLO's tests if available. `cargo xtask
//! conformance interpret` runs all tests of StableHLO.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::SpmdMode;
use shardc_runtime::plugin;
use shardc_tests::{
    devices::client,
    interpret::{Case, Draw, Outcome, Runner, tests_of},
    shared,
    skip::{Need, skipped},
};

/// Files of `conformance/stablehlo/tests/interpret` in the shared data.
const SHARED: &[&str] = &["all_reduce", "dynamic_slice", "gather", "reduce", "scatter"];

/// Two tests; the second expects wrong values.
const OWN: &str = r#"
func.func @right() {
  %a = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %b = stablehlo.constant dense<3> : tensor<5xi32>
  %0 = stablehlo.multiply %a, %b : tensor<5xi32>
  check.expect_eq_const %0, dense<[3, 6, 9, 12, 15]> : tensor<5xi32>
  return
}
// -----
func.func @wrong() {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = stablehlo.negate %a : tensor<5xf32>
  check.expect_almost_eq_const %0, dense<[-1.0, -2.0, -3.0, -4.0, -5.01]> : tensor<5xf32>
  return
}
"#;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let mut trials = vec![
        Trial::test("draws_are_deterministic", draws_are_deterministic),
        Trial::test("wrong_expectations_are_detected", wrong_expectations_are_detected),
    ];
    match shared().map(|dir| dir.join("conformance/stablehlo/tests/interpret")).filter(|dir| dir.is_dir()) {
        Some(dir) => trials.extend(SHARED.iter().map(|name| {
            let file = dir.join(name).with_extension("mlir");
            Trial::test(*name, move || passes(&std::fs::read_to_string(&file)?))
        })),
        None => trials.push(Trial::test("shared", || {
            let reason = format!("{} files of the shared data, which is not here", SHARED.len());
            Ok(skipped(Need::Shared, &reason)?)
        })),
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The outcome of each program of each test.
fn outcomes(text: &str) -> Result<Vec<(String, Outcome)>, Failed> {
    let Some(client) = client()? else { return Ok(Vec::new()) };
    let runner = Runner::new(&client);
    let mut all = Vec::new();
    for test in tests_of(text) {
        let (module, func) = test.program?;
        let case = Case::new(module, func)?;
        let reference = runner.reference(&case)?;
        for number in 0..3 {
            let drawn = Draw::new(1, &test.name, number).program(&case);
            for mode in [SpmdMode::Replica, SpmdMode::Partition] {
                let (outcome, _) = runner.run(&case, &reference, &drawn, mode);
                all.push((format!("{} {number} {mode}", test.name), outcome));
            }
        }
    }
    Ok(all)
}

fn passes(text: &str) -> Result<(), Failed> {
    let wrong: Vec<String> = outcomes(text)?
        .into_iter()
        .filter(|(_, outcome)| !matches!(outcome, Outcome::Equal | Outcome::Rounded))
        .map(|(program, outcome)| format!("{program}: {outcome:?}"))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn wrong_expectations_are_detected() -> Result<(), Failed> {
    for (program, outcome) in outcomes(OWN)? {
        // The results on one and on eight devices agree, but the test expects other values.
        let expected = program.starts_with("right");
        let equal = outcome == Outcome::Equal;
        if equal != expected {
            return Err(format!("{program}: {outcome:?}").into());
        }
    }
    Ok(())
}

fn draws_are_deterministic() -> Result<(), Failed> {
    let Some(test) = tests_of(OWN).into_iter().next() else { return Err("no test was found".into()) };
    let (module, func) = test.program?;
    let case = Case::new(module, func)?;
    let text = |number| {
        let drawn = Draw::new(7, "f", number).program(&case);
        (shardc_stablehlo::print(&drawn.module, &Default::default()), drawn.uneven)
    };
    if text(1) != text(1) || text(1) == text(2) {
        return Err("a draw depends on its numbers alone".into());
    }
    // Five elements are divisible only by an axis of size five.
    if !text(1).1 {
        return Err(format!("no uneven sharding was drawn: {}", text(1).0).into());
    }
    Ok(())
}
