//! Lints that find annotations that are certainly unintended. Partitioning reports them too.
//!
//! Partitioning reports them as warnings, even if it treats unrequested all-gathers as errors: the result is correct. `lint` lists them as
//! ordinary rules, which can be denied.

use shardc_ir::{Diagnostic, FuncId, Module};

use super::subject::{Facts, Subject};
use super::{LintOptions, annotations, axes, replicas, uneven};

/// Returns warnings about unintended annotations of a program whose calls are inlined: a mesh along which nothing is sharded (`SH0911`),
/// dimensions with fewer elements than blocks (`SH0912`; of size one, `SH0903`), and a program that is partitioned already (`SH0914`).
#[must_use]
pub fn not_meant(module: &Module, func: FuncId) -> Vec<Diagnostic> {
    let Some(body) = module.funcs[func].body else { return Vec::new() };
    let (facts, options) = (Facts::new(module, body), LintOptions::default());
    let subject = Subject { module, base: module, func, body, facts: &facts, options: &options };
    let of = |code: &'static str, found: Vec<Diagnostic>| {
        found.into_iter().map(move |warning| Diagnostic { code, ..warning })
    };
    of("SH0911", axes::nothing_split(&subject))
        .chain(of("SH0912", uneven::more_parts_than_elements(&subject)))
        .chain(of("SH0903", annotations::of_size_one(&subject)))
        .chain(of("SH0914", replicas::several(&subject)))
        .collect()
}
