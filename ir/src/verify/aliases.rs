//! Verifies invariant I19: donations of parameters to results.

use std::collections::HashMap;

use super::Report;
use crate::discardable::{ALIASING_OUTPUT as ALIAS, BUFFER_DONOR};
use crate::{Attr, Diagnostic, Func};

const CODE: &str = "SH0219";

pub(super) fn check(report: &mut Report<'_>) {
    let module = report.module;
    for func in module.funcs.values() {
        let mut givers: HashMap<usize, usize> = HashMap::new();
        for (i, attrs) in func.arg_attrs.iter().enumerate() {
            let Some(attr) = attrs.get(ALIAS) else { continue };
            let Attr::Int(number, _) = attr else {
                report.push(wrong(
                    func,
                    i,
                    format!("{ALIAS} of parameter {i} of @{} must be an integer", func.name),
                ));
                continue;
            };
            let results = func.results.len();
            let Some(result) = usize::try_from(*number).ok().filter(|&result| result < results) else {
                let message = format!(
                    "parameter {i} of @{} is donated to result {number}, but there are {results} results",
                    func.name
                );
                report.push(wrong(func, i, message));
                continue;
            };
            match givers.get(&result) {
                Some(&first) => {
                    let message = format!(
                        "parameters {first} and {i} of @{} are both donated to result {result}",
                        func.name
                    );
                    let error = wrong(func, i, message)
                        .note(func.arg_span(first), format!("parameter {first}"))
                        .hint(format!(
                            "remove one {ALIAS}, or replace it by {BUFFER_DONOR}, which donates to any compatible result"
                        ));
                    report.push(error);
                }
                None => {
                    givers.insert(result, i);
                }
            }
        }
    }
}

fn wrong(func: &Func, parameter: usize, message: String) -> Diagnostic {
    Diagnostic::invalid(CODE, message)
        .at(func.arg_span(parameter))
        .hint(format!("{ALIAS} is the index of a result, from 0"))
}
