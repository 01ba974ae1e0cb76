//! Diagnostics as JSON.

use serde_json::{Value, json};
use shardc::ir::{Class, Span};
use shardc::{Diagnostic, Severity};

use crate::words;

/// The JSON object of a diagnostic for a line of standard error.
pub(crate) fn line(diagnostic: &Diagnostic, file: &str, text: &str) -> Value {
    let mut object = self::diagnostic(diagnostic, file, text);
    object["type"] = json!("diagnostic");
    object
}

/// The JSON object of an error without a location in a program.
pub(crate) fn error(code: Option<&str>, message: &str, notes: &[String], hint: Option<&str>) -> Value {
    let notes = notes.iter().map(|note| json!({ "message": note, "line": null, "column": null }));
    json!({
        "type": "diagnostic",
        "code": code,
        "severity": "error",
        "message": message,
        "bytes": null,
        "file": null,
        "line": null,
        "column": null,
        "user_location": null,
        "hint": hint.filter(|hint| !hint.is_empty()),
        "notes": notes.collect::<Vec<_>>(),
    })
}

/// The JSON object of a diagnostic, with its file, line and column, which are null if unknown.
///
/// For an error in an option, `option` is the text of the option, and the column is a position in that text.
pub(crate) fn diagnostic(diagnostic: &Diagnostic, file: &str, text: &str) -> Value {
    let (file, (line, column)) = match &diagnostic.quote {
        Some(quote) => {
            let (option, span) = words::option(quote);
            (json!(words::COMMAND_LINE), place(span, &option))
        }
        None => (json!(Some(file).filter(|file| !file.is_empty())), place(diagnostic.span, text)),
    };
    let notes = diagnostic.notes.iter().map(|(span, note)| {
        let (line, column) = place(*span, text);
        json!({ "message": note, "line": line, "column": column })
    });
    json!({
        "code": diagnostic.code,
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "class": match diagnostic.class {
            Class::InvalidInput => "invalid-input",
            Class::Unsupported => "unsupported",
            Class::Internal => "internal",
        },
        "message": diagnostic.message,
        "bytes": diagnostic.bytes,
        "file": file,
        "line": line,
        "column": column,
        "option": diagnostic.quote.as_ref().map(|quote| words::option(quote).0),
        "user_location": diagnostic.user_loc,
        "hint": diagnostic.hint.as_deref().map(words::hint),
        "notes": notes.collect::<Vec<_>>(),
    })
}

/// Returns line and column, counted from 1, or two nulls if there is no location or no text.
fn place(span: Span, text: &str) -> (Value, Value) {
    let before = usize::try_from(span.start).ok().filter(|_| span.is_some()).and_then(|at| text.get(..at));
    let Some(before) = before.filter(|_| !text.is_empty()) else { return (Value::Null, Value::Null) };
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    (json!(line), json!(before[line_start..].chars().count() + 1))
}
