//! Rewrites hints of the library for C.
//!
//! A hint of the library names its API, such as `Compiler::mesh("data=4")`. In C, this is the member `mesh` of `shardc_options`.

use shardc::Diagnostic;

/// Terms of the library, and those of C that replace them.
const WORDS: &[(&str, &str)] = &[
    ("`Compiler::mesh(\"data=4,model=2\")`", "`mesh` of shardc_options to \"data=4,model=2\""),
    ("`Compiler::spec(\"ARG\", \"data,-\")`", "`specs` of shardc_options to \"ARG=data,-\""),
    ("Compiler::custom_call_rule for the target", "`rules` of shardc_options for the target"),
    ("CallRule::Unknown", "no rule"),
    ("`Compiler::dim`", "`dims` of shardc_options"),
    ("`Compiler::mesh`", "`mesh` of shardc_options"),
    ("`Compiler::spec`", "`specs` of shardc_options"),
];

/// Rewrites the hints of diagnostics.
pub(crate) fn for_c(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for hint in diagnostics.iter_mut().filter_map(|diagnostic| diagnostic.hint.as_mut()) {
        for (library, c) in WORDS {
            *hint = hint.replace(library, c);
        }
    }
    diagnostics
}
