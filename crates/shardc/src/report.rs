//! Errors of graphs with the lines of Rust that they come from.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::path::Path;

use shardc_graph::{GraphError, GraphErrors};

use crate::Error;

/// Errors or warnings of a graph as rustc shows its own, for a `main` that returns them:
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
/// The lines are read from the files that the program was compiled from, where these are below the current directory or one that
/// it is in; else the places stand alone. Colours are used where the standard error is a terminal.
///
/// `?` makes a report of an [`Error`], too, and an error of a report:
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
/// assert!(compile().unwrap_err().to_string().starts_with("error[SH0604]: dot of tensors"));
/// assert!(run().unwrap_err().to_string().starts_with("error[SH0604]: dot of tensors"));
/// ```
#[derive(Clone)]
pub struct Report {
    text: String,
    error: Error,
}

impl From<GraphErrors> for Report {
    fn from(errors: GraphErrors) -> Self {
        Report { text: errors.render(&mut source, stderr().is_terminal()), error: errors.into() }
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        Report { text: error.to_string(), error }
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

/// What [`Display`](fmt::Display) says, on lines of its own: `main` shows an error so.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Report {}

/// The text of a file, as the compiler named it: from where the workspace is, which is here or further up.
fn source(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let mut places = here.ancestors().map(|above| above.join(file));
    std::fs::read_to_string(Path::new(file))
        .ok()
        .or_else(|| places.find_map(|path| std::fs::read_to_string(path).ok()))
}
