//! Checks that every program parses and verifies, and that its pretty and generic forms parse as the same program. Programs that
//! StableHLO's and Shardy's tests mark with `expected-error` must be rejected. Programs of the corpora must be printed unchanged, byte for
//! byte.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use shardc_filetest::files;
use shardc_ir::{Diagnostic, Module};
use shardc_stablehlo::{PrintForm, PrintOptions, parse, print, render};

use super::{ConformanceArgs, exceptions::Exceptions};
use xtask::{process, workspace::Workspace};

/// The expected outcome of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Read,
    /// The program parses, and is printed unchanged.
    ReadAndPrinted,
    Rejected,
}

/// The outcomes of a folder's programs.
#[derive(Default)]
struct Tally {
    read: usize,
    printed: usize,
    rejected: usize,
    /// Expected differences. `failed` has the others.
    excepted: Vec<String>,
    failed: Vec<String>,
    /// The indices of the exceptions whose programs were parsed. `used` has those that permitted a difference.
    covered: BTreeSet<usize>,
    used: BTreeSet<usize>,
}

pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/read.txt"))?;
    let mut failures = 0;
    for folder in ["corpus/jax", "corpus/torch_xla", "conformance/stablehlo", "conformance/shardy"] {
        let tally = process::step(&format!("read {folder}"), || check(root, folder, &exceptions, args))?;
        let Tally { read, printed, rejected, excepted, failed, covered, used } = tally;
        println!(
            "   parsed and printed: {read} (of these, unchanged: {printed}); rejected as expected: {rejected}"
        );
        println!("   exceptions: {}, unexpected: {}", excepted.len(), failed.len());
        for line in excepted.iter().chain(&failed) {
            println!("   {line}");
        }
        // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so
        // stale exceptions are not reported.
        let stale = covered.difference(&used).filter(|_| args.filters.is_empty());
        for &line in stale.clone() {
            println!("   {}: listed as an exception, but it passes", exceptions.line(line).0);
        }
        failures += failed.len() + stale.count();
    }
    if failures > 0 {
        bail!("{failures} unexpected failures or stale lines of tests/conformance/read.txt");
    }
    Ok(())
}

fn check(root: &Path, folder: &str, exceptions: &Exceptions, args: &ConformanceArgs) -> Result<Tally> {
    let dir = root.join(folder);
    let mut tally = Tally::default();
    for file in files(&dir, "mlir").with_context(|| format!("reading {}", dir.display()))? {
        let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if !args.wants(&path) {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let as_it_was = folder.starts_with("corpus");
        // The comment `// -----` separates programs only with this option.
        let split = text.contains("-split-input-file");
        let programs = if split { text.split("// -----").collect() } else { vec![&*text] };
        for (number, program) in programs.into_iter().enumerate() {
            let expected = match program.contains("expected-error") {
                true => Expected::Rejected,
                false if as_it_was => Expected::ReadAndPrinted,
                false => Expected::Read,
            };
            let name = format!("{path}#{number}");
            let exception = exceptions.find(&path, &number.to_string());
            tally.covered.extend(exception);
            match (one(program, expected, &name), exception) {
                (Ok(()), _) => match expected {
                    Expected::Read => tally.read += 1,
                    Expected::Rejected => tally.rejected += 1,
                    Expected::ReadAndPrinted => {
                        tally.read += 1;
                        tally.printed += 1;
                    }
                },
                (Err(_), Some(line)) => {
                    tally.used.insert(line);
                    tally.excepted.push(format!("{name}: {}", exceptions.line(line).1));
                }
                (Err(message), None) => {
                    let first = message.lines().next().unwrap_or_default();
                    tally.failed.push(format!("{name}: {}", if args.verbose { &message } else { first }));
                }
            }
        }
    }
    Ok(tally)
}

/// Checks that a program has the expected outcome; the error describes the difference.
fn one(program: &str, expected: Expected, name: &str) -> Result<(), String> {
    let rendered = |errors: &[Diagnostic], text: &str| render(errors, name, text, false);
    let module = match (accept(program), expected) {
        (Err(_), Expected::Rejected) => return Ok(()),
        (Ok(_), Expected::Rejected) => return Err("the program is accepted, but must be rejected".to_owned()),
        (Err(errors), _) => return Err(rendered(&errors, program)),
        (Ok(module), _) => module,
    };
    let pretty = PrintOptions { locations: program.contains("loc("), ..PrintOptions::default() };
    let printed = print(&module, &pretty);
    let generic = print(&module, &PrintOptions { form: PrintForm::Generic, ..pretty });
    for (form, text) in [("print", &printed), ("generic print", &generic)] {
        let again = accept(text).map_err(|errors| {
            format!("the parser rejects the {form} of the program: {}", rendered(&errors, text))
        })?;
        if print(&again, &pretty) != printed {
            return Err(format!("the {form} of the program parses as a different program"));
        }
    }
    if expected == Expected::ReadAndPrinted && printed != program {
        let differs = printed.lines().zip(program.lines()).find(|(ours, theirs)| ours != theirs);
        let (ours, theirs) = differs.unwrap_or(("", "(one is longer)"));
        return Err(format!(
            "the program is printed differently: got `{}`, expected `{}`",
            ours.trim(),
            theirs.trim()
        ));
    }
    Ok(())
}

fn accept(text: &str) -> Result<Module, Vec<Diagnostic>> {
    let module = parse(text)?;
    shardc_ir::verify(&module)?;
    Ok(module)
}
