//! Programs in StableHLO.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shardc::CancelToken;
use shardc::ir::Module;
use shardc::stablehlo::{PrintForm, PrintOptions, Version};

use crate::error::raised;
use crate::interrupt;

/// A program in StableHLO. It never changes; transformations return new programs.
#[pyclass(frozen, module = "shardc")]
pub(crate) struct Program {
    pub(crate) module: Module,
    /// The name in messages.
    pub(crate) name: String,
    /// The text, if the program was read from text: messages quote its lines.
    pub(crate) source: String,
}

impl Program {
    /// A transformed program, which has no text.
    pub(crate) fn derived(&self, module: Module) -> Program {
        Program { module, name: self.name.clone(), source: String::new() }
    }

    pub(crate) fn raise(&self, py: Python<'_>, error: &shardc::Error) -> PyErr {
        raised(py, error, &self.name, &self.source)
    }

    fn printed(&self, form: PrintForm, locations: bool) -> String {
        shardc::stablehlo::print(&self.module, &PrintOptions { form, locations, ..PrintOptions::default() })
    }
}

#[pymethods]
impl Program {
    /// Reads StableHLO: text, MLIR bytecode or a portable artifact.
    #[staticmethod]
    #[pyo3(signature = (data, name = "<program>"))]
    fn read(py: Python<'_>, data: &[u8], name: &str) -> PyResult<Program> {
        let parsed = interrupt::run(py, &CancelToken::new(), || shardc::Compiler::read(data))?;
        let source = std::str::from_utf8(data).unwrap_or_default();
        let module = parsed.map_err(|error| raised(py, &error, name, source))?;
        Ok(Program { module, name: name.to_owned(), source: source.to_owned() })
    }

    /// The program as text.
    #[pyo3(signature = (*, generic = false, locations = false))]
    fn text(&self, generic: bool, locations: bool) -> String {
        self.printed(if generic { PrintForm::Generic } else { PrintForm::Pretty }, locations)
    }

    /// The program as MLIR bytecode.
    fn bytecode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written =
            interrupt::run(py, &CancelToken::new(), || shardc::Compiler::write_bytecode(&self.module))?;
        Ok(PyBytes::new(py, &written.map_err(|error| self.raise(py, &error))?))
    }

    /// The program as a portable artifact of StableHLO, for readers of `version` and newer.
    #[pyo3(signature = (version = "1.0.0"))]
    fn artifact<'py>(&self, py: Python<'py>, version: &str) -> PyResult<Bound<'py, PyBytes>> {
        let version: Version =
            version.parse().map_err(|_| PyValueError::new_err(format!("not a version: {version}")))?;
        let written = shardc::Compiler::write_artifact(&self.module, version);
        Ok(PyBytes::new(py, &written.map_err(|error| self.raise(py, &error))?))
    }

    fn __str__(&self) -> String {
        self.printed(PrintForm::Pretty, false)
    }

    fn __repr__(&self) -> String {
        format!("<shardc.Program {}>", self.name)
    }
}
