//! Graph errors with the Rust source lines that caused them.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::path::Path;

use shardc_graph::{GraphError, GraphErrors};

use crate::Error;

/// Errors or warnings of a graph in the format of rustc, for a `main` that returns them:
///
/// ```no_run
/// use shardc::graph::{DType::F32, Graph, Mesh, Report};
///
/// fn main() -> Result<(), Report> {
///     let g = Graph::new("step", &Mesh::new(&[("data", 8)])?);
///     let x = g.parameter("x", [8, 4], F32);
///     g.finish(&[("y", x.dot(x))])?;
///     Ok(())
/// }
/// ```
///
/// The lines are read from source files below the current directory or one of its parents. For other files, only the positions are printed.
/// Colors are used if standard error is a terminal.
///
/// `?` also converts an [`Error`] to a report, and a report to an error:
///
/// ```
/// use shardc::Error;
/// use shardc::graph::{DType::F32, Graph, Mesh, Report};
///
/// fn build() -> Result<(), Report> {
///     let g = Graph::new("step", &Mesh::new(&[("data", 8)])?);
///     let x = g.parameter("x", [8, 4], F32);
///     g.finish(&[("y", x.dot(x))])?;
///     Ok(())
/// }
///
/// fn compile() -> Result<(), Error> {
///     build()?;
///     Ok(())
/// }
///
/// fn run() -> Result<(), Report> {
///     compile()?;
///     Ok(())
/// }
///
/// assert!(compile().unwrap_err().to_string().starts_with("error[SH0604]: dot: incompatible shapes"));
/// assert!(run().unwrap_err().to_string().starts_with("error[SH0604]: dot: incompatible shapes"));
/// assert_eq!(run().unwrap_err().to_string(), build().unwrap_err().to_string());
/// ```
///
/// [`Report::of`] finds graph errors in the source chain of another error type.
#[derive(Clone)]
pub struct Report {
    text: String,
    error: Error,
}

impl From<GraphErrors> for Report {
    fn from(errors: GraphErrors) -> Self {
        Report { text: rendered(&errors), error: errors.into() }
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        match error {
            Error::Graph(errors) => errors.into(),
            other => Report { text: other.to_string(), error: other },
        }
    }
}

impl Report {
    /// Returns the graph errors that caused `error`, with their Rust source lines; `None` if there are none. `error` may have any type,
    /// such as `anyhow::Error` or `Box<dyn Error>`, if its source chain contains graph errors.
    ///
    /// ```
    /// use shardc::graph::{DType::F32, Graph, Mesh, Report};
    ///
    /// fn build() -> Result<(), Box<dyn std::error::Error>> {
    ///     let g = Graph::new("step", &Mesh::new(&[("data", 8)])?);
    ///     let x = g.parameter("x", [8, 4], F32);
    ///     g.finish(&[("y", x.dot(x))])?;
    ///     Ok(())
    /// }
    ///
    /// let error = build().unwrap_err();
    /// let report = Report::of(&*error).unwrap();
    /// assert!(report.to_string().contains("-->"), "the place in the Rust source: {report}");
    /// ```
    #[must_use]
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Option<Report> {
        let mut next = Some(error);
        while let Some(error) = next {
            let found = (error.downcast_ref::<GraphErrors>().cloned())
                .or_else(|| error.downcast_ref::<GraphError>().cloned().map(GraphErrors::from));
            if let Some(errors) = found {
                return Some(errors.into());
            }
            if let Some(Error::Graph(errors)) = error.downcast_ref::<Error>() {
                return Some(errors.clone().into());
            }
            if let Some(report) = error.downcast_ref::<Report>() {
                return Some(report.clone());
            }
            next = error.source();
        }
        None
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        report.error
    }
}

impl From<GraphError> for Report {
    fn from(error: GraphError) -> Self {
        GraphErrors(vec![error]).into()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

/// Prints the same as [`Display`](fmt::Display), starting on a new line, for errors returned from `main`.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Report {}

/// The errors with their source lines, in color if standard error is a terminal.
fn rendered(errors: &GraphErrors) -> String {
    errors.render(&mut source, stderr().is_terminal())
}

/// The text of a source file. Its path is relative to the workspace, which is the current directory or one of its parents.
fn source(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let mut places = here.ancestors().map(|above| above.join(file));
    std::fs::read_to_string(Path::new(file))
        .ok()
        .or_else(|| places.find_map(|path| std::fs::read_to_string(path).ok()))
}
