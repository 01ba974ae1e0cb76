//! What is surely not meant, so that partitioning warns of it too.
//!
//! These are no errors, not even where gathers are: what comes out is right, and what is meant by a mesh is for the user to
//! say. `lint` has them as rules like all others, which can be denied.

use shardc_ir::{Diagnostic, FuncId, Module};

use super::subject::{Facts, Subject};
use super::{LintOptions, annotations, axes, uneven};

/// Warnings of what an annotated program, whose calls are inlined, surely does not mean: a mesh along which nothing is split
/// (`SH0911`), and dimensions with fewer elements than parts (`SH0912`; of size one, `SH0903`).
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
        .collect()
}
