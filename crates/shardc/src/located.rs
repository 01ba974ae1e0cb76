//! Serializable diagnostics with lines and columns.

use serde::{Deserialize, Serialize};
use shardc_ir::{Class, Diagnostic, Severity, Span};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The compilation has a result, which may differ from what the user expects.
    Warning,
    /// The compilation failed and has no result.
    Error,
}

/// The cause of a diagnostic, which determines who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program or the options are invalid.
    InvalidInput,
    /// The program uses a feature that shardc does not support.
    Unsupported,
    /// A bug in shardc.
    Internal,
}

/// A range of a text. Lines and columns count from 1; columns count characters; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Line of the first character.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column of the end.
    pub end_column: usize,
}

impl Place {
    /// Returns the position of a span in a text, or `None` if the span is outside the text.
    #[must_use]
    pub fn of(span: Span, text: &str) -> Option<Place> {
        if !span.is_some() || text.is_empty() {
            return None;
        }
        let position = |at: u32| {
            let before = text.get(..usize::try_from(at).ok()?)?;
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
            Some((line, before[line_start..].chars().count() + 1))
        };
        let (line, column) = position(span.start)?;
        let (end_line, end_column) = position(span.end).unwrap_or((line, column));
        Some(Place { line, column, end_line, end_column })
    }
}

/// A note of a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocatedNote {
    /// The text of the note.
    pub message: String,
    /// The source range that the note is about.
    #[serde(flatten)]
    pub place: Option<Place>,
}

/// A [`Diagnostic`] with its file, line and column.
///
/// ```
/// use shardc::{Compiler, LocatedDiagnostic};
///
/// let source = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}";
/// let error = Compiler::new().partition(source.as_bytes()).unwrap_err();
/// let located: Vec<LocatedDiagnostic> = error.located("step.mlir", source);
/// let json = serde_json::to_value(&located[0]).unwrap();
/// assert_eq!(json["severity"], "error");
/// assert_eq!((&json["file"], &json["line"], &json["column"]), (&"step.mlir".into(), &2.into(), &10.into()));
/// assert_eq!(serde_json::from_value::<LocatedDiagnostic>(json).unwrap(), located[0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocatedDiagnostic {
    /// A stable code: `SH0101`.
    pub code: String,
    /// Warning or error.
    pub severity: Level,
    /// The cause of a diagnostic, which determines who has to act.
    pub class: Cause,
    /// The message, one sentence.
    pub message: String,
    /// In a cost warning, the additional bytes that a device sends or stores.
    pub bytes: Option<u64>,
    /// The name of the program, if the position is in the program.
    pub file: Option<String>,
    /// The position in the program, or in `option`.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The text of the option, if the error is in an option.
    pub option: Option<String>,
    /// The position in the user's own program (`file.py:12:5`), if the module has source locations.
    pub user_location: Option<String>,
    /// A hint: how to fix the cause.
    pub hint: Option<String>,
    /// The notes.
    pub notes: Vec<LocatedNote>,
}

impl LocatedDiagnostic {
    /// The diagnostic with its position in `source`, which is named `source_name`.
    #[must_use]
    pub fn new(diagnostic: &Diagnostic, source_name: &str, source: &str) -> LocatedDiagnostic {
        let (file, place) = match &diagnostic.quote {
            Some(quote) => (None, Place::of(quote.span, &quote.text)),
            None => (
                Some(source_name.to_owned()).filter(|name| !name.is_empty()),
                Place::of(diagnostic.span, source),
            ),
        };
        let notes = diagnostic.notes.iter();
        LocatedDiagnostic {
            code: diagnostic.code.to_owned(),
            severity: match diagnostic.severity {
                Severity::Warning => Level::Warning,
                Severity::Error => Level::Error,
            },
            class: match diagnostic.class {
                Class::InvalidInput => Cause::InvalidInput,
                Class::Unsupported => Cause::Unsupported,
                Class::Internal => Cause::Internal,
            },
            message: diagnostic.message.clone(),
            bytes: diagnostic.bytes,
            file,
            place,
            option: diagnostic.quote.as_ref().map(|quote| format!("{} {}", quote.origin, quote.text)),
            user_location: diagnostic.user_loc.clone(),
            hint: diagnostic.hint.clone(),
            notes: notes
                .map(|(span, note)| LocatedNote { message: note.clone(), place: Place::of(*span, source) })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a\n\u{e4}b";
        let place = Place::of(Span::new(4, 5), text);
        assert_eq!(place, Some(Place { line: 2, column: 2, end_line: 2, end_column: 3 }));
        assert_eq!(Place::of(Span::NONE, text), None);
        assert_eq!(Place::of(Span::new(3, 5), text), None, "within a character");
        assert_eq!(Place::of(Span::new(90, 95), text), None);
    }

    #[test]
    fn option_errors_have_a_position() {
        let error = Diagnostic::invalid("SH0335", "no axis").quoting("spec", "arg0=dat", Span::new(5, 8));
        let located = LocatedDiagnostic::new(&error, "a.mlir", "text");
        assert_eq!((located.file, located.option.as_deref()), (None, Some("spec arg0=dat")));
        assert_eq!(located.place.map(|place| (place.line, place.column)), Some((1, 6)));
    }
}
