//! I19: donations of parameters to results.

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
                    format!("{ALIAS} of parameter {i} of @{} is no integer", func.name),
                ));
                continue;
            };
            let results = func.results.len();
            let Some(result) = usize::try_from(*number).ok().filter(|&result| result < results) else {
                let message = format!(
                    "parameter {i} of @{} gives its memory to result {number}, of {results}",
                    func.name
                );
                report.push(wrong(func, i, message));
                continue;
            };
            match givers.get(&result) {
                Some(&first) => {
                    let message = format!(
                        "parameters {first} and {i} of @{} both give their memory to result {result}",
                        func.name
                    );
                    let error = wrong(func, i, message)
                        .note(func.arg_span(first), format!("parameter {first}"))
                        .hint(format!(
                            "drop one {ALIAS}; with {BUFFER_DONOR} instead the memory goes to any result that fits"
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
        .hint(format!("{ALIAS} is the number of the result, from 0"))
}
