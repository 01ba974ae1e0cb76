//! Diagnostics of the compiler in the form of the protocol.

use std::collections::HashSet;
use std::fmt::Write as _;

use lsp_types::{
    Diagnostic as LspDiagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
    Range, Uri,
};
use shardc::ir::{Class, Span};
use shardc::{Diagnostic, Severity};

use crate::analysis::bytes;
use crate::text::Text;

/// The name of this server beside a diagnostic.
const SOURCE: &str = "shardc";

/// Converts diagnostics. Only the first of several with the same code and position is kept, because partitioning and linting both report
/// some facts.
pub(crate) fn convert<'a>(
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
    text: &Text,
    uri: &Uri,
) -> Vec<LspDiagnostic> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        let place = diagnostic.span.is_some().then_some(diagnostic.span.start);
        // Diagnostics without a position differ in their messages.
        let message = if place.is_none() { diagnostic.message.as_str() } else { "" };
        if seen.insert((diagnostic.code, place, message)) {
            out.push(one(diagnostic, text, uri));
        }
    }
    out
}

fn one(diagnostic: &Diagnostic, text: &Text, uri: &Uri) -> LspDiagnostic {
    let (placed, unplaced): (Vec<_>, Vec<_>) = diagnostic.notes.iter().partition(|(span, _)| span.is_some());
    let related = placed.into_iter().map(|(span, note)| DiagnosticRelatedInformation {
        location: Location::new(uri.clone(), range(*span, text)),
        message: note.clone(),
    });
    let related: Vec<_> = related.collect();
    let severity = match diagnostic.severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
    };
    LspDiagnostic {
        range: range(diagnostic.span, text),
        severity: Some(severity),
        code: (!diagnostic.code.is_empty()).then(|| NumberOrString::String(diagnostic.code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message: message(diagnostic, unplaced.into_iter().map(|(_, note)| note.as_str())),
        related_information: (!related.is_empty()).then_some(related),
        ..LspDiagnostic::default()
    }
}

/// The message with everything that has no field of its own: the option, the position in the user's program, notes and the hint.
fn message<'a>(diagnostic: &'a Diagnostic, notes: impl Iterator<Item = &'a str>) -> String {
    let mut message = diagnostic.message.clone();
    let mut line = |label: &str, text: &str| {
        let _ = write!(message, "\n{label}: {text}");
    };
    if let Some(quote) = &diagnostic.quote {
        line("option", &format!("{} {}", quote.origin, quote.text));
    }
    if let Some(place) = &diagnostic.user_loc {
        line("in your program", place);
    }
    notes.for_each(|note| line("note", note));
    if let Some(hint) = &diagnostic.hint {
        line("help", hint);
    }
    if diagnostic.class == Class::Internal {
        line("note", "this is a bug in shardc: please report it with the program");
    }
    message
}

/// The range of a span. A diagnostic without a position is at the first line. An empty span is extended to one character, which clients
/// can underline.
fn range(span: Span, text: &Text) -> Range {
    if !span.is_some() {
        return text.first_line();
    }
    let mut range = bytes(span);
    if range.is_empty() {
        range.end = text.next_character(range.start);
    }
    text.range(range)
}
