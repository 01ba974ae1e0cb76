//! All of StableHLO's interpreter tests, and its small programs from JAX's tests. Tests that cannot pass are listed, with the reason, in
//! `tests/conformance/interpreter.txt`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use shardc_filetest::skip::{Need, skip};
use shardc_filetest::{files, root, shared};
use shardc_ir::{FuncId, Module, OpKind};
use shardc_stablehlo::parse_split;

use crate::checks::Checks;

/// A line of the list of tests that cannot pass.
pub(crate) struct Exception {
    pub(crate) path: String,
    /// Names of functions; empty for the whole file.
    functions: Vec<String>,
}

/// The list of tests that cannot pass.
pub(crate) fn exceptions() -> Vec<Exception> {
    let text = std::fs::read_to_string(root().join("conformance/interpreter.txt")).expect("a readable list");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (place, reason) = line.split_once(": ").expect("`path: reason`");
            assert!(!reason.is_empty(), "{line}");
            let (path, functions) = place.split_once('#').unwrap_or((place, ""));
            let functions = functions.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Exception { path: path.to_owned(), functions }
        })
        .collect()
}

/// Whether a path matches a pattern, which may end in `*`.
fn matches(pattern: &str, path: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == path, |start| path.starts_with(start))
}

/// The functions of a module that are tests: those without parameters that check something, or `main`.
fn tests(module: &Module) -> Vec<FuncId> {
    let is_check = |kind: &OpKind| match kind {
        OpKind::Opaque(spec) => spec.name.starts_with("check."),
        OpKind::CustomCall(spec) => spec.target.starts_with("check."),
        _ => false,
    };
    let checks = |func: &shardc_ir::Func| {
        let body = func.body.filter(|_| func.params.is_empty());
        body.is_some_and(|body| module.walk(body).iter().any(|&op| is_check(&module.ops[op].kind)))
    };
    let found: Vec<FuncId> = module.funcs.iter().filter(|(_, func)| checks(func)).map(|(id, _)| id).collect();
    if found.is_empty() { module.entry().into_iter().collect() } else { found }
}

/// Runs the tests of a file; returns the name of each, with its error.
fn run(path: &Path) -> Vec<(String, Result<(), String>)> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let mut outcomes: Vec<(String, Result<(), String>)> = Vec::new();
    for (number, chunk) in parse_split(&text).into_iter().enumerate() {
        let verified = chunk.module.and_then(|module| shardc_ir::verify(&module).map(|_| module));
        let module = match verified {
            Ok(module) => module,
            Err(errors) => {
                outcomes.push((number.to_string(), Err(format!("{errors:?}"))));
                continue;
            }
        };
        for func in tests(&module) {
            let plain = module.funcs[func].name.to_string();
            let before = outcomes.iter().filter(|(name, _)| name.split('.').next() == Some(&plain)).count();
            let name = if before == 0 { plain } else { format!("{plain}.{}", before + 1) };
            let checks = Checks::new(&module);
            outcomes.push((name, checks.run(func).map(|_| ())));
        }
    }
    outcomes
}

/// Runs the tests of a folder, of which at least `least` must pass.
fn check(folder: &str, least: usize) {
    let Some(dir) = shared().map(|dir| dir.join("conformance/stablehlo")).filter(|dir| dir.is_dir()) else {
        return skip(Need::Shared, &format!("the files of {folder}"));
    };
    let exceptions = exceptions();
    let all: Vec<PathBuf> = files(&dir.join(folder), "mlir").expect("a readable folder");
    let (mut passed, mut failures) = (0, String::new());
    let mut unneeded: BTreeSet<usize> = BTreeSet::new();
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    for path in all {
        let name = path.strip_prefix(&dir).expect("a file of the folder").display().to_string();
        for (function, outcome) in run(&path) {
            let exception = exceptions.iter().position(|e| {
                matches(&e.path, &name) && (e.functions.is_empty() || e.functions.contains(&function))
            });
            match (outcome, exception) {
                (Ok(()), None) => passed += 1,
                (Ok(()), Some(line)) => {
                    passed += 1;
                    unneeded.insert(line);
                }
                (Err(_), Some(line)) => {
                    needed.insert(line);
                }
                (Err(error), None) => {
                    let error: String = error.chars().take(300).collect();
                    let _ = writeln!(failures, "{name}#{function}: {error}");
                }
            }
        }
    }
    for line in unneeded.difference(&needed) {
        let _ = writeln!(failures, "{}: listed as an exception, but it passes", exceptions[*line].path);
    }
    eprintln!("{folder}: {passed} tests pass, {} lines of exceptions", needed.len());
    assert!(failures.is_empty(), "\n{failures}{} failures", failures.lines().count());
    assert!(passed >= least, "only {passed} tests pass");
}

#[test]
fn interpreter_tests_pass() {
    check("tests/interpret", 270);
}

#[test]
fn programs_of_jax_pass() {
    check("testdata", 1280);
}
