//! Rewrites hints of the library for the command line.
//!
//! A hint of the library names its API, such as `Compiler::mesh("data=4")`. On the command line, this is `--mesh data=4`.

use std::borrow::Cow;

use shardc::ir::{Quote, Span};
use shardc::{Diagnostic, RenderOptions};

/// The file name of diagnostics about options.
pub(crate) const COMMAND_LINE: &str = "<command line>";

/// Terms of the library, and the command-line terms that replace them.
const WORDS: &[(&str, &str)] = &[
    ("`Compiler::mesh(\"data=4,model=2\")`", "--mesh \"data=4,model=2\""),
    ("`Compiler::spec(\"ARG\", \"data,-\")`", "--spec ARG=data,-"),
    ("or Compiler::custom_call_rule for the target", "--rules or --rule for the target"),
    ("or CallRule::Unknown for a call without a rule", "or leave the call out of the rules"),
    ("`Engine::Pjrt`", "--engine pjrt"),
    ("`Limits::memory`", "--host-memory"),
    ("`Limits::time`", "--time-limit"),
    ("`Limits::work`", "--work-limit"),
    ("`Compiler::dim`", "--dim"),
    ("`Compiler::mesh`", "--mesh"),
    ("`Compiler::spec`", "--spec"),
];

/// Rewrites a hint for the command line.
pub(crate) fn hint(text: &str) -> Cow<'_, str> {
    WORDS.iter().fold(Cow::Borrowed(text), |text, (library, program)| {
        if text.contains(library) { Cow::Owned(text.replace(library, program)) } else { text }
    })
}

/// The quoted option as it is written on the command line, and the span of the error in it.
pub(crate) fn option(quote: &Quote) -> (String, Span) {
    let option = format!("--{} ", quote.origin);
    let (start, end) = (quote.span.start as usize, quote.span.end as usize);
    (format!("{option}{}", quote.text), Span::new(option.len() + start, option.len() + end))
}

/// Renders diagnostics as text, with hints for the command line.
pub(crate) fn render(diagnostics: &[Diagnostic], name: &str, text: &str, options: RenderOptions) -> String {
    let diagnostics: Vec<Diagnostic> = diagnostics
        .iter()
        .map(|diagnostic| {
            let mut diagnostic = diagnostic.clone();
            diagnostic.hint = diagnostic.hint.map(|text| hint(&text).into_owned());
            if let Some(quote) = &mut diagnostic.quote {
                (quote.text, quote.span) = option(quote);
                quote.origin = COMMAND_LINE;
            }
            diagnostic
        })
        .collect();
    shardc::render_with(&diagnostics, name, text, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_options() {
        assert_eq!(
            hint("leave out `Compiler::mesh`, or add `Compiler::spec(\"ARG\", \"data,-\")`"),
            "leave out --mesh, or add --spec ARG=data,-"
        );
        assert_eq!(hint("did you mean `stablehlo.add`?"), "did you mean `stablehlo.add`?");
    }
}
