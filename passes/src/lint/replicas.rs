//! A lint about programs that are partitioned already.

use shardc_ir::{Class, Diagnostic};

use super::subject::Subject;

/// Reports a program that states several replicas: each device runs it on its own data. Its collectives are refused in planning.
pub(super) fn several(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let Some(count) = subject.module.num_replicas().filter(|&count| count > 1) else { return Vec::new() };
    let message = format!(
        "the program is for {count} replicas, as after partitioning, and is partitioned once more as the program of all devices"
    );
    let warning = Diagnostic::warning(Class::InvalidInput, "", message);
    let hint = "partition the original program; if this is the original, remove mhlo.num_replicas";
    vec![warning.at(subject.module.funcs[subject.func].span).hint(hint)]
}
