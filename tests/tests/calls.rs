//! Random programs with functions that are not inlined. The partitioned programs must produce the results of one device.
//!
//! `cargo test -p shardc-tests --test calls` runs a few cases; `SHARDC_SEED`, `SHARDC_FIRST` and `SHARDC_CASES` select them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::env;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use proptest::{
    array::uniform3,
    collection::vec,
    prelude::any,
    strategy::{Just, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use shardc::{Compiler, Error, SpmdMode, exec};
use shardc_ir::Class;
use shardc_runtime::{Client, plugin};
use shardc_tests::devices::client;
use shardc_tests::outline::outline;
use shardc_tests::random::{MeshRecipe, Recipe};

/// Number of programs in a plain test run.
const CASES: u64 = 16;

/// Parts of error messages that report limitations of XLA's CPU back end.
const BACK_END: &[&str] = &["fft_thunk.cc", "Unsupported element type for DotThunk"];

/// The outcome of a case.
#[derive(PartialEq)]
enum Outcome {
    /// Results are equal; the number of functions that were partitioned separately.
    Equal(usize),
    /// The results of the outlined operations are unused, or the program is rejected.
    Passed,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let mesh = any::<u16>().prop_map(|axes| MeshRecipe { axes, order: 0 });
    let parameters = vec(proptest::array::uniform10(any::<u16>()), 1..5);
    let ops = vec(proptest::array::uniform12(any::<u16>()), 3..14);
    (mesh, uniform3(any::<u16>()), parameters, ops, Just(u16::MAX)).prop_map(
        |(mesh, sizes, parameters, ops, outputs)| Recipe {
            mesh,
            sizes,
            parameters,
            ops,
            outputs,
            floats: false,
        },
    )
}

fn check(client: &Client, recipe: &Recipe, mode: SpmdMode, seed: u64) -> Result<Outcome, String> {
    let whole = Compiler::read(recipe.text().as_bytes()).map_err(|e| e.to_string())?;
    let Some(pieces) = whole.entry().and_then(|entry| outline(&whole, entry, "piece", seed)) else {
        return Ok(Outcome::Passed);
    };
    let of_piece =
        pieces.func_names.get("piece").and_then(|&piece| outline(&pieces, piece, "inner", seed / 5));
    let program = of_piece.unwrap_or(pieces);
    shardc_ir::verify(&program).map_err(|e| format!("the outlined program: {e:?}"))?;
    let text = shardc_stablehlo::print(&program, &shardc_stablehlo::PrintOptions::default());
    let output = match Compiler::new().spmd_mode(mode).inline_budget(0).partition(text.as_bytes()) {
        Ok(output) => output,
        Err(Error::Diagnostics(all)) if all.iter().all(|d| d.class == Class::Unsupported) => {
            return Ok(Outcome::Passed);
        }
        // A program that is rejected even with all calls inlined does not test calls.
        Err(_) if Compiler::new().spmd_mode(mode).partition(text.as_bytes()).is_err() => {
            return Ok(Outcome::Passed);
        }
        Err(error) => return Err(format!("{}\n{text}", error.render("random.mlir", &text, false))),
    };
    let partitioned = output.text();
    let again = Compiler::read(partitioned.as_bytes())
        .map_err(|e| format!("{}\n{partitioned}", e.render("partitioned.mlir", &partitioned, false)))?;
    let pretty = shardc_stablehlo::PrintForm::Pretty;
    let options = shardc_stablehlo::PrintOptions { form: pretty, ..Default::default() };
    if shardc_stablehlo::print(&again, &options) != partitioned {
        return Err(format!("reads back as another\n{partitioned}"));
    }
    match exec::verify(client, &whole, &output, seed) {
        Err(error) => {
            let shown = error.render("random.mlir", &text, false);
            match BACK_END.iter().any(|known| shown.contains(known)) {
                true => Ok(Outcome::Passed),
                false => Err(format!("{shown}\n{text}\n{partitioned}")),
            }
        }
        Ok(checks) => match checks.iter().find(|check| !check.ok()) {
            None => Ok(Outcome::Equal(output.module.funcs.len() - 1)),
            Some(wrong) => {
                Err(format!("output {}: {:?}\n{text}\n{partitioned}", wrong.index, wrong.difference))
            }
        },
    }
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn sweep() -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let (cases, seed, first) =
        (number("SHARDC_CASES", CASES), number("SHARDC_SEED", 1), number("SHARDC_FIRST", 0));
    let (mut equal, mut functions, mut failures) = (0, 0, Vec::new());
    for case in first..first + cases {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&case.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let tree = recipe().new_tree(&mut runner).map_err(|e| e.to_string())?;
        let mode = if case % 2 == 0 { SpmdMode::Replica } else { SpmdMode::Partition };
        match check(&client, &tree.current(), mode, case.wrapping_mul(0x9e37_79b9) >> 8) {
            Ok(Outcome::Equal(kept)) => (equal, functions) = (equal + 1, functions + kept),
            Ok(Outcome::Passed) => {}
            Err(why) => failures.push(format!("case {case}: {why}")),
        }
    }
    if !failures.is_empty() {
        return Err(format!("{} of {cases} cases failed\n{}", failures.len(), failures.join("\n\n")));
    }
    eprintln!("{equal} of {cases} programs are equal, with {functions} functions");
    if functions * 4 < cases as usize {
        return Err(format!("only {functions} functions of {cases} programs stayed functions"));
    }
    Ok(())
}

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trial = Trial::test("functions_not_inlined", || Ok(sweep()?));
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
