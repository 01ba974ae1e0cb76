//! Diagnostics: errors and warnings as data. The library prints none; a front end renders them.

use std::fmt;
use std::time::Duration;

/// A range of bytes in the program's source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Default for Span {
    /// Returns [`Span::NONE`].
    fn default() -> Self {
        Span::NONE
    }
}

impl Span {
    /// No position in the text, for items that a builder or a pass created.
    pub const NONE: Span = Span { start: u32::MAX, end: u32::MAX };

    /// Returns the span of the bytes from `start` to `end`, or [`Span::NONE`] if they are beyond 4 GiB.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Span {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Span { start, end },
            _ => Span::NONE,
        }
    }

    /// Whether the span is a position in the text: false for [`Span::NONE`].
    #[must_use]
    pub fn is_some(self) -> bool {
        self != Span::NONE
    }
}

/// Prints `12..15`, or `none`.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { write!(f, "{}..{}", self.start, self.end) } else { f.write_str("none") }
    }
}

/// The text of an invalid option value, for an error that is in an option and not in the program text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The name of the option that has this value: `mesh`, `spec`.
    pub origin: &'static str,
    /// The entire text of the option value.
    pub text: String,
    /// The range of the text that contains the error.
    pub span: Span,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The result is correct, but may not be what the user expects.
    Warning,
    /// The compilation has no result.
    Error,
}

/// The class of a diagnostic: who has to fix the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The program or the options are invalid: the user must fix them.
    InvalidInput,
    /// The program is valid, but shardc does not support it yet. The message describes what is supported.
    Unsupported,
    /// A bug in shardc: please report it.
    Internal,
}

/// Why a compilation ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Interruption {
    /// The token was cancelled.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// The compilation took longer than this time limit.
    #[error("the compilation took longer than its time limit of {0:?}")]
    TimeLimit(Duration),
}

impl Interruption {
    /// The diagnostic code of a cancelled compilation.
    pub const CANCELLED: &'static str = "SH0393";
    /// The diagnostic code of a compilation that exceeded its time limit.
    pub const TIME_LIMIT: &'static str = "SH0394";

    /// Returns an error diagnostic that reports the interruption.
    #[must_use]
    pub fn to_diagnostic(self) -> Diagnostic {
        let code = match self {
            Interruption::Cancelled => Interruption::CANCELLED,
            Interruption::TimeLimit(_) => Interruption::TIME_LIMIT,
        };
        let diagnostic = Diagnostic::invalid(code, self.to_string());
        Diagnostic { interruption: Some(self), ..diagnostic }
    }
}

/// One error or warning.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Warning or error.
    pub severity: Severity,
    /// Who has to fix the problem.
    pub class: Class,
    /// The diagnostic code, which does not change between releases: `SH0101`.
    pub code: &'static str,
    /// The message: one sentence without a final period.
    pub message: String,
    /// The position in the source text; [`Span::NONE`] if there is none.
    pub span: Span,
    /// The location in the user's own program (`file.py:12:5`), if the module has one.
    pub user_loc: Option<String>,
    /// A hint about how to fix the problem.
    pub hint: Option<String>,
    /// Further facts, each with a position in the source text or [`Span::NONE`].
    pub notes: Vec<(Span, String)>,
    /// The invalid option value, if the error is in an option; `span` is then the part of the program that the option
    /// refers to.
    pub quote: Option<Box<Quote>>,
    /// For a warning about cost: the number of bytes that the reported problem makes a device send in one execution of the program (with
    /// trip counts of loops), or keep in memory. `None` for other diagnostics.
    pub bytes: Option<u64>,
    /// The reason for the interruption, if the compilation was interrupted.
    pub interruption: Option<Interruption>,
}

impl Diagnostic {
    /// A diagnostic of `class` with code and message, without a position.
    #[must_use]
    pub fn new(severity: Severity, class: Class, code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic {
            severity,
            class,
            code,
            message: message.into(),
            span: Span::NONE,
            user_loc: None,
            hint: None,
            notes: Vec::new(),
            quote: None,
            bytes: None,
            interruption: None,
        }
    }

    /// An error in the program or in the options.
    #[must_use]
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Class::InvalidInput, code, message)
    }

    /// An error about something that shardc does not support yet.
    #[must_use]
    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Class::Unsupported, code, message)
    }

    /// An internal error: a bug in shardc.
    #[must_use]
    pub fn internal(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Class::Internal, code, message)
    }

    /// A warning.
    #[must_use]
    pub fn warning(class: Class, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, class, code, message)
    }

    /// Sets the position in the source.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the number of bytes that the reported problem makes a device send or keep in memory.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, span: Span, note: impl Into<String>) -> Self {
        self.notes.push((span, note.into()));
        self
    }

    /// Makes the diagnostic point to a range of an option value.
    #[must_use]
    pub fn quoting(mut self, origin: &'static str, text: impl Into<String>, span: Span) -> Self {
        self.quote = Some(Box::new(Quote { origin, text: text.into(), span }));
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}[{}]: {}", self.code, self.message)?;
        if let Some(loc) = &self.user_loc {
            write!(f, " (at {loc})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// Prints the same text as [`Display`](fmt::Display), since `main` prints errors with `Debug`.
impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_reads_like_display() {
        let error = Diagnostic::invalid("SH0303", "the program has no mesh").hint("give it one");
        assert_eq!(format!("{error:?}"), "error[SH0303]: the program has no mesh; give it one");
        assert_eq!(format!("{:?} {:?}", Span::NONE, Span::new(3, 5)), "none 3..5");
    }
}
