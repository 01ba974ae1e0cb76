//! Errors of commands as data. [`Ui`](crate::ui::Ui) renders them as text or JSON.

use std::fmt;

use shardc::runtime::RuntimeError;
use shardc::statedict::StateDictError;
use shardc::{Diagnostic, Error};

/// An error with more data than a message, inside an [`anyhow::Error`].
#[derive(Debug)]
pub(crate) enum Failure {
    /// Diagnostics of the compiler about a program, or about options that annotate it.
    Refused {
        diagnostics: Vec<Diagnostic>,
        /// The name of the program.
        name: String,
        /// The text of the program; empty if it is not text.
        text: String,
        /// Whether the diagnostics are about the command line, so that the exit code is 2.
        usage: bool,
    },
    /// An error of the runtime.
    Runtime { code: String, message: String, notes: Vec<String>, hint: Option<String> },
    /// A mistake in the command line, not in the program.
    Usage { message: String, hint: Option<String> },
}

impl Failure {
    pub(crate) fn of(error: &Error, name: &str, text: &str) -> Failure {
        match error {
            Error::Runtime(error) => Failure::runtime(error),
            _ => {
                let diagnostics = error.diagnostics().into_owned();
                let usage = diagnostics.iter().all(is_about_options);
                Failure::Refused { diagnostics, name: name.to_owned(), text: text.to_owned(), usage }
            }
        }
    }

    pub(crate) fn runtime(error: &RuntimeError) -> Failure {
        Failure::Runtime {
            code: error.code().to_owned(),
            message: error.to_string(),
            notes: error.notes(),
            hint: error.hint(),
        }
    }

    pub(crate) fn state_dict(error: &StateDictError) -> Failure {
        Failure::Runtime {
            code: error.code().to_owned(),
            message: error.to_string(),
            notes: Vec::new(),
            hint: error.advice().map(str::to_owned),
        }
    }

    /// Whether the command line is invalid: exit code 2.
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Failure::Refused { usage, .. } => *usage,
            Failure::Runtime { .. } => false,
            Failure::Usage { .. } => true,
        }
    }
}

/// Displays the message of each error on a line; [`Ui`](crate::ui::Ui) renders the complete text.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused { diagnostics, .. } => {
                for (i, diagnostic) in diagnostics.iter().enumerate() {
                    write!(f, "{}{diagnostic}", if i > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
            Failure::Runtime { message, .. } | Failure::Usage { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

/// Creates the error for a mistake in the command line (exit code 2).
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    Failure::Usage { message: message.into(), hint: None }.into()
}

/// Whether an error is about an option, such as `--mesh` or `--spec`.
fn is_about_options(diagnostic: &Diagnostic) -> bool {
    const CODES: &[&str] =
        &["SH0306", "SH0307", "SH0331", "SH0333", "SH0334", "SH0335", "SH0336", "SH0337", "SH0338", "SH0339"];
    diagnostic.quote.is_some() || CODES.contains(&diagnostic.code)
}
