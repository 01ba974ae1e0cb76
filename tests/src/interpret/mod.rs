//! StableHLO's interpreter tests as programs for several devices.
//!
//! A test is a function without parameters. It computes on constants and states its expected results with `check.*` operations.
//! [`tests_of`] finds the tests in a text. [`Case::new`] splits a test into results, expectations, and constants that may become arguments.
//! A [`Draw`] turns the test into a program with random shardings of arguments, results and intermediate values. [`Runner`] partitions and
//! runs the program, and compares the results with the expectations.
//!
//! The back end may round differently than the interpreter. If its results on one device already differ from the expected results, the
//! results on one device replace them, and the test is counted separately ([`Outcome::LikeOneDevice`]).

mod case;
mod compare;
mod draw;
mod expect;
mod parallel;
mod run;

pub use case::Case;
pub use draw::{Draw, Drawn, shard};
pub use run::{Outcome, Reference, Runner};

use shardc_ir::{FuncId, Module, OpKind, RegionId};
use shardc_stablehlo::parse_split;

/// A test function of a text.
#[derive(Clone, Debug)]
pub struct Test {
    /// The function's name, with a suffix `.2` and so on if it is repeated in the text.
    pub name: String,
    /// The program that contains the function, or the reason why the program cannot be read.
    pub program: Result<(Module, FuncId), String>,
}

/// Finds the tests of a text: in each program, every function without parameters that checks something, or `main` if there is none.
#[must_use]
pub fn tests_of(text: &str) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for (number, chunk) in parse_split(text).into_iter().enumerate() {
        let verified = chunk.module.and_then(|module| shardc_ir::verify(&module).map(|_| module));
        let module = match verified {
            Ok(module) => module,
            Err(errors) => {
                let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                tests.push(Test { name: number.to_string(), program: Err(message) });
                continue;
            }
        };
        let alone = |f: &shardc_ir::Func| f.body.is_some_and(|b| module.regions[b].args.is_empty());
        let mut found: Vec<FuncId> = module
            .funcs
            .iter()
            .filter(|(_, f)| alone(f) && f.body.is_some_and(|body| has_checks(&module, body)))
            .map(|(id, _)| id)
            .collect();
        if found.is_empty() {
            found.extend(module.entry());
        }
        for func in found {
            let plain = module.funcs[func].name.to_string();
            let before = tests.iter().filter(|t| t.name.split('.').next() == Some(plain.as_str())).count();
            let name = if before == 0 { plain } else { format!("{plain}.{}", before + 1) };
            tests.push(Test { name, program: Ok((module.clone(), func)) });
        }
    }
    tests
}

fn has_checks(module: &Module, body: RegionId) -> bool {
    module.regions[body].ops.iter().any(|&op| expect::is_check(&module.ops[op].kind))
}

/// The names of the operations of a test, without repetitions, in order.
#[must_use]
pub fn operations(module: &Module, body: RegionId) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &op in &module.regions[body].ops {
        let kind = &module.ops[op].kind;
        let name = kind.name().trim_start_matches("stablehlo.");
        if !matches!(kind, OpKind::Constant(_) | OpKind::Return) && !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}
