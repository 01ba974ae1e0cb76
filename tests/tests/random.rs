//! Random programs with random shardings are partitioned and executed on eight virtual devices. They must produce the results of one
//! device.
//!
//! `cargo test -p shardc-tests --test random` runs a few cases, `cargo xtask sweep --cases 2000 --seed 7` many more. A case depends only on
//! the seed and its number, so a failed case can be run again: `SHARDC_SEED=7 SHARDC_FIRST=1234 SHARDC_CASES=1`. A failing program is
//! shrunk before it is shown.
//!
//! No case may panic. The partitioned program must be valid, its text must parse to the same program, and every output must equal that of
//! the single-device execution. A program may be rejected as unsupported, but not as invalid.

#[path = "drawn/mod.rs"]
mod drawn;
#[path = "drawn/recipes.rs"]
mod recipes;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use shardc::{CleanOptions, Compiler, Error, SpmdMode, exec};
use shardc_ir::Class;
use shardc_runtime::{Client, plugin};
use shardc_stablehlo::{PrintForm, PrintOptions, print};
use shardc_tests::random::Recipe;

use drawn::{Failure, Outcome, caught, fails, mode, sweep};
use recipes::recipe;

/// Number of programs in a plain test run.
const CASES: u64 = 24;
/// Parts of error messages that report limitations of XLA's CPU back end. The operand of an `fft` may arrive in the layout of a transpose
/// or a collective, which `fft` does not support. Some matmuls of 16-bit floats compile but cannot run.
const BACK_END: &[&str] = &["fft_thunk.cc", "Unsupported element type for DotThunk"];

fn check(client: &Client, recipe: &Recipe, mode: SpmdMode, seed: u64) -> Result<Outcome, Failure> {
    let text = recipe.text();
    caught(|| check_text(client, &text, mode, seed))
}

fn check_text(client: &Client, text: &str, mode: SpmdMode, seed: u64) -> Result<Outcome, Failure> {
    let original = match Compiler::read(text.as_bytes()) {
        Ok(module) => module,
        Err(error) => return fails("the generator's text", error.render("random.mlir", text, false)),
    };
    if let Err(errors) = shardc_ir::verify(&original) {
        return fails("the generator's program", format!("{errors:?}"));
    }
    // Half of the cases rematerialize all-gathers as much as possible.
    let clean = CleanOptions { memory_bytes: (seed % 4 >= 2).then_some(0), ..CleanOptions::default() };
    let output = match Compiler::new().spmd_mode(mode).clean(clean).partition(text.as_bytes()) {
        Ok(output) => output,
        Err(error) => {
            let shown = error.render("random.mlir", text, false);
            let unsupported = matches!(&error, Error::Diagnostics(all)
                if all.iter().all(|d| d.class == Class::Unsupported));
            let kind = shown.lines().next().unwrap_or_default().to_owned();
            return if unsupported { Ok(Outcome::Refused(kind)) } else { fails(kind, shown) };
        }
    };
    let partitioned = output.text();
    if let Err(errors) = shardc_ir::verify(&output.module) {
        let kind = format!("invalid output: {}", errors.first().map_or("", |e| e.code));
        return fails(kind, format!("{errors:?}\n{partitioned}"));
    }
    for (form, written) in [("pretty", partitioned.clone()), ("generic", output.generic_text())] {
        let read = match Compiler::read(written.as_bytes()) {
            Ok(module) => module,
            Err(error) => {
                let details = error.render("partitioned.mlir", &written, false);
                return fails(format!("{form} text does not read back"), details);
            }
        };
        let again = print(&read, &PrintOptions { form: PrintForm::Pretty, ..PrintOptions::default() });
        if again != partitioned {
            return fails(format!("{form} text reads back as another"), format!("{partitioned}\n{again}"));
        }
    }
    match exec::verify(client, &original, &output, seed) {
        Err(error) => {
            let shown = error.render("random.mlir", text, false);
            if let Some(known) = BACK_END.iter().find(|known| shown.contains(**known)) {
                return Ok(Outcome::Refused((*known).to_owned()));
            }
            let first: String = shown.lines().next().unwrap_or_default().chars().take(100).collect();
            fails(format!("run: {first}"), format!("{shown}\n{partitioned}"))
        }
        Ok(checks) => match checks.iter().find(|c| !c.ok()) {
            None => Ok(Outcome::Equal),
            Some(wrong) => fails(
                "wrong values",
                format!("output {} {}: {:?}\n{partitioned}", wrong.index, wrong.ty, wrong.difference),
            ),
        },
    }
}

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trial = Trial::test("random programs", || {
        let check = |client: &Client, recipe: &Recipe, case| check(client, recipe, mode(case), case);
        Ok(sweep("random", CASES, &recipe(false), Recipe::text, check)?)
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}
