//! What can be wrong with a graph.

mod kind;
mod render;

use std::fmt;
use std::panic::Location;

use shardc_ir::{Class, DType, Diagnostic, Span};

pub use self::kind::ErrorKind;
pub(crate) use self::kind::KindResult;

/// An error, with the line of the user's program that it comes from.
///
/// `Debug` says what `Display` does, so that an error that leaves `main` can be read:
///
/// ```
/// let error = shardc_graph::Mesh::new(&[("data", 0)]).unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(error.to_string().starts_with("error[SH0607]"));
/// ```
#[derive(Clone)]
pub struct GraphError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The call that failed.
    pub location: &'static Location<'static>,
    /// The tensors that it was given.
    pub operands: Vec<OperandNote>,
}

/// A tensor that an operation was given which does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandNote {
    /// Its name, where it has one: that of a parameter, or what [`Tensor::named`](crate::Tensor::named) said.
    pub name: Option<String>,
    /// Its shape.
    pub shape: Vec<i64>,
    /// Its element type.
    pub dtype: DType,
    /// File, line and column of the call that made it.
    pub place: Option<(String, u32, u32)>,
}

/// `w1 is f32[16, 4]`.
impl fmt::Display for OperandNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}` is {}{:?}", self.dtype, self.shape),
            None => write!(f, "this is {}{:?}", self.dtype, self.shape),
        }
    }
}

/// All that is wrong with a graph, in the order in which it was built. What follows from an error is not among them.
#[derive(Clone)]
pub struct GraphErrors(pub Vec<GraphError>);

impl GraphErrors {
    /// The errors as the rest of shardc reports errors.
    #[must_use]
    pub fn to_diagnostics(&self) -> Vec<Diagnostic> {
        self.0.iter().map(GraphError::to_diagnostic).collect()
    }
}

/// One line for each.
impl fmt::Display for GraphErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// What [`Display`](fmt::Display) says: `main` shows an error so.
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

/// An error at the place of the call, for results.
pub(crate) trait Here<T> {
    /// The error at the place that this is called from, or from which a `#[track_caller]` function is.
    fn here(self) -> Result<T, GraphError>;
}

impl<T> Here<T> for Result<T, ErrorKind> {
    // Not `map_err`: a function that is passed on does not see its caller.
    #[track_caller]
    fn here(self) -> Result<T, GraphError> {
        match self {
            Ok(value) => Ok(value),
            Err(kind) => Err(kind.here()),
        }
    }
}

impl GraphError {
    /// The error as the rest of shardc reports errors.
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

/// What [`Display`](fmt::Display) says: `main` shows an error so.
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
