//! Rewrites hints of the library for Python.
//!
//! A hint of the library names its API, such as `Compiler::mesh("data=4")`. In Python, this is the argument `mesh={"data": 4}`.

use shardc::Diagnostic;

/// Terms of the library, and those of Python that replace them.
const WORDS: &[(&str, &str)] = &[
    ("`Compiler::mesh(\"data=4,model=2\")`", "`mesh={\"data\": 4, \"model\": 2}`"),
    ("`Compiler::spec(\"ARG\", \"data,-\")`", "`specs={\"ARG\": (\"data\", None)}`"),
    ("or Compiler::custom_call_rule for the target", "or `rules` for the target"),
    ("or CallRule::Unknown for a call without a rule", "or leave the call out of the rules"),
    ("`Compiler::dim`", "`dims`"),
    ("`Compiler::mesh`", "`mesh`"),
    ("`Compiler::spec`", "`specs`"),
];

/// Rewrites the hints of diagnostics.
pub(crate) fn for_python(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for hint in diagnostics.iter_mut().filter_map(|diagnostic| diagnostic.hint.as_mut()) {
        for (library, python) in WORDS {
            *hint = hint.replace(library, python);
        }
    }
    diagnostics
}
