//! Random programs with random shardings: partitioned and run on eight virtual devices, they must give what they give
//! on one.
//!
//! `cargo test -p shardc-tests --test random` runs a few; `cargo xtask sweep --cases 2000 --seed 7` many more. What is
//! drawn depends on the seed and the number of the case alone, so a case that failed can be run again by its number:
//! `SHARDC_SEED=7 SHARDC_FIRST=1234 SHARDC_CASES=1`. A failing program is made smaller before it is shown.
//!
//! For each case: no panic; the partitioned program is valid, and its text reads back as what it was; every output
//! equals that of the single-device run. A program may be refused as unsupported, but not as invalid.

use std::{
    collections::BTreeMap,
    env,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::ExitCode,
};

use libtest_mimic::{Arguments, Trial};
use proptest::{
    array::uniform3,
    collection::vec,
    prelude::any,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use shardc::{CleanOptions, Compiler, Error, SpmdMode, exec};
use shardc_ir::Class;
use shardc_runtime::{Client, plugin};
use shardc_stablehlo::{PrintForm, PrintOptions, print};
use shardc_tests::devices::client;
use shardc_tests::random::{MeshRecipe, Recipe};

/// How many programs a plain test run tries.
const CASES: u64 = 24;
/// How often a failing program is made smaller.
const SHRINKS: usize = 120;

/// What XLA's CPU back end cannot do, as its message says. The layout that a transposition or a collective gives to the
/// operand of an `fft` reaches that as it is, which then wants another; some products of 16-bit floats are compiled, but
/// cannot be run.
const BACK_END: &[&str] = &["fft_thunk.cc", "Unsupported element type for DotThunk"];

fn recipe() -> impl Strategy<Value = Recipe> {
    // Devices in the order of their numbers half of the time.
    let order = proptest::prop_oneof![proptest::strategy::Just(0), any::<u16>()];
    let mesh = (any::<u16>(), order).prop_map(|(axes, order)| MeshRecipe { axes, order });
    let parameters = vec(proptest::array::uniform10(any::<u16>()), 1..5);
    let ops = vec(proptest::array::uniform12(any::<u16>()), 1..11);
    (mesh, uniform3(any::<u16>()), parameters, ops, any::<u16>())
        .prop_map(|(mesh, sizes, parameters, ops, outputs)| Recipe { mesh, sizes, parameters, ops, outputs })
}

/// How a case that did not fail went.
#[derive(PartialEq)]
enum Outcome {
    Equal,
    Refused(String),
}

struct Failure {
    /// What went wrong, the same for cases that fail alike.
    kind: String,
    details: String,
}

fn fails<T>(kind: impl Into<String>, details: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { kind: kind.into(), details: details.into() })
}

fn check(client: &Client, recipe: &Recipe, mode: SpmdMode, seed: u64) -> Result<Outcome, Failure> {
    let text = recipe.text();
    catch_unwind(AssertUnwindSafe(|| check_text(client, &text, mode, seed))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        fails("panic", message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message"))
    })
}

fn check_text(client: &Client, text: &str, mode: SpmdMode, seed: u64) -> Result<Outcome, Failure> {
    let original = match Compiler::read(text.as_bytes()) {
        Ok(module) => module,
        Err(error) => return fails("the generator's text", error.render("random.mlir", text, false)),
    };
    if let Err(errors) = shardc_ir::verify(&original) {
        return fails("the generator's program", format!("{errors:?}"));
    }
    // In two of four cases nothing is kept that could be gathered again.
    let clean = CleanOptions { memory_bytes: (seed % 4 >= 2).then_some(0), ..CleanOptions::default() };
    let output = match Compiler::new().spmd_mode(mode).clean(clean).partition(text.as_bytes()) {
        Ok(output) => output,
        Err(error) => {
            let shown = error.render("random.mlir", text, false);
            let unsupported = match &error {
                Error::Diagnostics(all) => all.iter().all(|d| d.class == Class::Unsupported),
                Error::Runtime(_) => false,
            };
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

fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn say(text: &str) {
    // Past the test runner, which hides what a passing test prints.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn runner(seed: u64, case: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&case.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn main() -> ExitCode {
    // Before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    let trial = Trial::test("random programs", || Ok(sweep()?));
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

fn sweep() -> Result<(), String> {
    let Some(client) = client()? else { return Ok(()) };
    let (cases, seed, first) =
        (number("SHARDC_CASES", CASES), number("SHARDC_SEED", 1), number("SHARDC_FIRST", 0));
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("random");
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for case in first..first + cases {
        if case > first && case % 500 == 0 {
            say(&format!("{} of {cases} cases", case - first));
        }
        let mode = if case % 2 == 0 { SpmdMode::Replica } else { SpmdMode::Partition };
        let mut tree = recipe().new_tree(&mut runner(seed, case)).map_err(|e| e.to_string())?;
        // Where the back end ends the process, this says on what.
        let running = |recipe: &Recipe| {
            std::fs::write(dir.join("running.mlir"), recipe.text()).map_err(|e| e.to_string())
        };
        running(&tree.current())?;
        let mut failure = match check(&client, &tree.current(), mode, case) {
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
        for _ in 0..SHRINKS {
            if !tree.simplify() {
                break;
            }
            loop {
                running(&tree.current())?;
                match check(&client, &tree.current(), mode, case) {
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
        std::fs::write(&file, smallest.text()).map_err(|e| e.to_string())?;
        say(&format!(
            "case {case} ({mode:?}, {}): {}\n{}\n{}\n",
            file.display(),
            failure.kind,
            smallest.text(),
            failure.details
        ));
    }
    let refusals: usize = refused.values().sum();
    say(&format!("{cases} cases, seed {seed}: {refusals} refused {refused:?}; failed: {failures:?}"));
    if !failures.is_empty() {
        return Err(format!("failed: {failures:?}"));
    }
    if refusals as u64 * 4 > cases {
        return Err(format!("too many programs are refused: {refused:?}"));
    }
    Ok(())
}
