//! The error type of this crate.

use std::{borrow::Cow, fmt};

use shardc_ir::{Class, Diagnostic, Interruption};

use crate::LocatedDiagnostic;
use crate::absent::{GraphErrors, RuntimeError};

/// The error of a compilation or an execution.
///
/// `Display` and `Debug` both print all diagnostics, so that errors returned from `main` are readable:
///
/// ```
/// use shardc::Compiler;
///
/// let source = b"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";
/// let error = Compiler::new().partition(source).unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(error.to_string().starts_with("error[SH0303]: the program has no mesh; annotate it"));
/// ```
///
/// [`Error::render`] shows the lines of the program as well.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program or the options are invalid.
    #[error("{}", lines(.0))]
    Diagnostics(Vec<Diagnostic>),
    /// A graph is invalid: `graph::Report` shows the Rust source lines that caused the error.
    #[error("{0}")]
    Graph(GraphErrors),
    /// An error of a plugin, a device or the back end's compiler.
    #[error("{}", runtime_line(.0))]
    Runtime(#[from] RuntimeError),
}

/// Prints the same as `Display`, for errors returned from `main`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// All diagnostics, one per line.
fn lines(diagnostics: &[Diagnostic]) -> String {
    if diagnostics.is_empty() {
        return "unknown error".to_owned();
    }
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn runtime_line(error: &RuntimeError) -> String {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("error[{}]: {error}{hint}", error.code())
}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Error::Diagnostics(diagnostics)
    }
}

#[cfg(feature = "graph")]
impl From<shardc_graph::GraphError> for Error {
    fn from(error: shardc_graph::GraphError) -> Self {
        Error::Graph(error.into())
    }
}

impl From<GraphErrors> for Error {
    fn from(errors: GraphErrors) -> Self {
        Error::Graph(errors)
    }
}

#[cfg(feature = "checkpoint")]
impl From<shardc_checkpoint::CheckpointError> for Error {
    fn from(error: shardc_checkpoint::CheckpointError) -> Self {
        let diagnostic = Diagnostic::invalid(error.code(), error.to_string());
        error.hint().map_or_else(|| diagnostic.clone(), |hint| diagnostic.clone().hint(hint)).into()
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::Diagnostics(vec![diagnostic])
    }
}

#[cfg(feature = "statedict")]
impl From<shardc_statedict::StateDictError> for Error {
    fn from(error: shardc_statedict::StateDictError) -> Self {
        let diagnostic = Diagnostic::invalid(error.code(), error.to_string());
        match error.advice() {
            Some(hint) => diagnostic.hint(hint).into(),
            None => diagnostic.into(),
        }
    }
}

impl Error {
    /// The diagnostics. The list is empty for a runtime error, which has no position in a program.
    #[must_use]
    pub fn diagnostics(&self) -> Cow<'_, [Diagnostic]> {
        match self {
            Error::Diagnostics(list) => Cow::Borrowed(list),
            Error::Graph(errors) => Cow::Owned(errors.to_diagnostics()),
            Error::Runtime(_) => Cow::Borrowed(&[]),
        }
    }

    /// Whether a bug in shardc caused the error. Users should report such an error.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.diagnostics().iter().any(|diagnostic| diagnostic.class == Class::Internal)
    }

    /// Returns the reason why the compilation was interrupted, if its [token](crate::Compiler::cancel_token) was cancelled or the
    /// compilation reached its [time limit](crate::Compiler::time_limit).
    #[must_use]
    pub fn interruption(&self) -> Option<Interruption> {
        self.diagnostics().iter().find_map(|diagnostic| diagnostic.interruption)
    }

    /// The diagnostics with their lines and columns in `source`, in serializable form. A runtime error, which has no position in the
    /// program, becomes one diagnostic.
    #[must_use]
    pub fn located(&self, source_name: &str, source: &str) -> Vec<LocatedDiagnostic> {
        let locate = |diagnostic: &Diagnostic| LocatedDiagnostic::new(diagnostic, source_name, source);
        match self {
            Error::Diagnostics(_) | Error::Graph(_) => self.diagnostics().iter().map(locate).collect(),
            Error::Runtime(error) => {
                let diagnostic = Diagnostic::invalid("", error.to_string());
                let hint = error.hint();
                let located = locate(&Diagnostic { hint, ..diagnostic });
                vec![LocatedDiagnostic { code: error.code().to_owned(), ..located }]
            }
        }
    }

    /// The error in readable form: each diagnostic with the line of `source` that it refers to.
    #[must_use]
    pub fn render(&self, source_name: &str, source: &str, color: bool) -> String {
        match self {
            Error::Diagnostics(_) | Error::Graph(_) => {
                shardc_stablehlo::render(&self.diagnostics(), source_name, source, color)
            }
            Error::Runtime(error) => {
                let notes: String = error.notes().iter().map(|n| format!("  = note: {n}\n")).collect();
                let hint = error.hint().map(|h| format!("  = help: {h}\n")).unwrap_or_default();
                format!("error[{}]: {error}\n{notes}{hint}", error.code())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_diagnostics_are_displayed() {
        let error: Error =
            vec![Diagnostic::invalid("SH0104", "one"), Diagnostic::invalid("SH0105", "two").hint("do this")]
                .into();
        assert_eq!(error.to_string(), "error[SH0104]: one\nerror[SH0105]: two; do this");
        assert_eq!(format!("{error:?}"), error.to_string());
    }

    #[cfg(feature = "runtime")]
    #[test]
    fn runtime_errors_have_a_code() {
        let error = Error::from(shardc_runtime::RuntimeError::Argument("two devices are needed".to_owned()));
        assert_eq!(format!("{error:?}"), "error[RT0301]: two devices are needed");
    }
}
