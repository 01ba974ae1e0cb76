//! # shardc for Python
//!
//! The native module of the Python package: programs, options, partitions and reports. The package itself, in `python/shardc`, adds what is easier
//! to write in Python: the forms in which programs are given, and the connection to JAX.

mod error;
mod interrupt;
mod options;
mod partition;
mod program;
mod report;
mod search;
mod transforms;
mod words;

/// The native module of the Python package `shardc`.
#[pyo3::pymodule(gil_used = false)]
mod _shardc {
    use pyo3::prelude::*;
    use pyo3::types::PyModule;

    #[pymodule_export]
    use crate::error::{InternalError, InvalidInputError, ShardcError, UnsupportedError};
    #[pymodule_export]
    use crate::options::Compiler;
    #[pymodule_export]
    use crate::partition::Partition;
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::report::Report;
    #[pymodule_export]
    use crate::search::auto;
    #[pymodule_export]
    use crate::transforms::{fsdp, grad};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
