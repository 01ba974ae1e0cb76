//! Errors of a graph.

mod kind;
mod render;

use std::fmt;
use std::panic::Location;

use shardc_ir::{Class, DType, Diagnostic, Span};

pub use self::kind::ErrorKind;
pub(crate) use self::kind::KindResult;

/// An error, with its line in the user's Rust program.
///
/// `Debug` prints the same as `Display`, so that an error returned from `main` is readable:
///
/// ```
/// let error = shardc_graph::Mesh::new(&[("data", 0)]).unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(error.to_string().starts_with("error[SH0607]"));
/// ```
#[derive(Clone)]
pub struct GraphError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The location of the failed call.
    pub location: &'static Location<'static>,
    /// The operands of the call.
    pub operands: Vec<OperandNote>,
}

/// A description of an operand of the failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandNote {
    /// The operand's name, if any: the name of a parameter, or a name set by [`Tensor::named`](crate::Tensor::named).
    pub name: Option<String>,
    /// The shape of the operand.
    pub shape: Vec<i64>,
    /// The element type of the operand.
    pub dtype: DType,
    /// File, line and column of the call that produced the operand, if known.
    pub place: Option<(String, u32, u32)>,
}

/// Formats the name, element type and shape, as in `` `w1` is f32[16, 4] ``.
impl fmt::Display for OperandNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` is {}{:?}", self.dtype, self.shape),
            None => write!(f, "this is {}{:?}", self.dtype, self.shape),
        }
    }
}

/// All errors of a graph, in the order of the calls, except errors that follow from earlier ones.
#[derive(Clone)]
pub struct GraphErrors(pub Vec<GraphError>);

impl GraphErrors {
    /// Returns the errors as diagnostics of the compiler.
    #[must_use]
    pub fn to_diagnostics(&self) -> Vec<Diagnostic> {
        self.0.iter().map(GraphError::to_diagnostic).collect()
    }
}

/// One line per error.
impl fmt::Display for GraphErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// Formats the errors like [`Display`](fmt::Display), because `main` prints errors with `Debug`.
impl fmt::Debug for GraphErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GraphErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.first().map(|error| error as _)
    }
}

impl From<GraphError> for GraphErrors {
    fn from(error: GraphError) -> Self {
        GraphErrors(vec![error])
    }
}

/// Adds the caller's location to the error of a `Result`.
pub(crate) trait Here<T> {
    /// Returns the result, with the caller's location added to an error. In a `#[track_caller]` function, this location is that of the
    /// function's own caller.
    fn here(self) -> Result<T, GraphError>;
}

impl<T> Here<T> for Result<T, ErrorKind> {
    // `map_err` would lose the location: `#[track_caller]` does not work through a function passed as a value.
    #[track_caller]
    fn here(self) -> Result<T, GraphError> {
        match self {
            Ok(value) => Ok(value),
            Err(kind) => Err(kind.here()),
        }
    }
}

impl GraphError {
    /// Returns the error as a diagnostic of the compiler.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        let (code, message) = (self.kind.code(), self.kind.to_string());
        let mut diagnostic = match &self.kind {
            ErrorKind::Invalid(_) => Diagnostic::internal(code, message),
            kind if kind.is_warning() => Diagnostic::warning(Class::InvalidInput, code, message),
            _ => Diagnostic::invalid(code, message),
        };
        diagnostic.user_loc = Some(self.location.to_string());
        diagnostic.hint = self.kind.hint();
        for operand in &self.operands {
            let place =
                operand.place.as_ref().map_or(String::new(), |(file, line, _)| format!(" ({file}:{line})"));
            diagnostic.notes.push((Span::NONE, format!("{operand}{place}")));
        }
        diagnostic
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_diagnostic().fmt(f)
    }
}

/// Formats the error like [`Display`](fmt::Display), because `main` prints errors with `Debug`.
impl fmt::Debug for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GraphError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Invalid(diagnostic) | ErrorKind::Gradient(diagnostic) => Some(diagnostic),
            _ => None,
        }
    }
}
