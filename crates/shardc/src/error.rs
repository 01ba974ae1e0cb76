//! The error of the facade.

use shardc_ir::{Class, Diagnostic};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program or the options were refused.
    #[error("{}", first_of(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// The input is neither UTF-8 text nor a format that shardc reads.
    #[error("the input is neither StableHLO text nor MLIR bytecode: {0}")]
    NotText(String),
    /// A plugin, a device or the back end's compiler refused.
    #[cfg(feature = "runtime")]
    #[error(transparent)]
    Runtime(#[from] shardc_runtime::RuntimeError),
}

fn first_of(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "unknown error".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Error::Diagnostics(diagnostics)
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::Diagnostics(vec![diagnostic])
    }
}

impl Error {
    /// Whether shardc itself is at fault, so that a report is welcome.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Error::Diagnostics(list) => list.iter().any(|d| d.class == Class::Internal),
            Error::NotText(_) => false,
            #[cfg(feature = "runtime")]
            Error::Runtime(_) => false,
        }
    }

    /// The error as a person wants to read it: each diagnostic under its line of `source`.
    #[must_use]
    pub fn render(&self, source_name: &str, source: &str, color: bool) -> String {
        match self {
            Error::Diagnostics(list) => shardc_stablehlo::render(list, source_name, source, color),
            Error::NotText(_) => format!("error: {self}\n"),
            #[cfg(feature = "runtime")]
            Error::Runtime(error) => {
                let hint = error.hint().map(|h| format!("  = help: {h}\n")).unwrap_or_default();
                format!("error[{}]: {error}\n{hint}", error.code())
            }
        }
    }
}
