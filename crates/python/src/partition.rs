//! Partitioned programs.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shardc::{CancelToken, LocatedDiagnostic, Output};

use crate::error::{json, parsed};
use crate::interrupt;
use crate::program::Program;
use crate::words::for_python;

/// A partitioned program: what each device runs, and how its inputs and outputs are sharded.
#[pyclass(frozen, module = "shardc")]
pub(crate) struct Partition {
    output: Output,
    name: String,
    source: String,
}

impl Partition {
    pub(crate) fn new(output: Output, program: &Program) -> Partition {
        Partition { output, name: program.name.clone(), source: program.source.clone() }
    }

    fn result<T>(&self, py: Python<'_>, result: Result<T, shardc::Error>) -> PyResult<T> {
        result.map_err(|error| crate::error::raised(py, &error, &self.name, ""))
    }
}

#[pymethods]
impl Partition {
    /// The number of devices.
    #[getter]
    fn num_devices(&self) -> usize {
        self.output.num_devices()
    }

    /// The program that each device runs, with local shapes and explicit collectives.
    #[getter]
    fn program(&self) -> Program {
        Program { module: self.output.module.clone(), name: self.name.clone(), source: String::new() }
    }

    /// The program with global shapes: the per-device program is the body of one `sdy.manual_computation`.
    fn manual_computation(&self, py: Python<'_>) -> PyResult<Program> {
        let module = self.result(py, self.output.manual_computation())?;
        Ok(Program { module, name: self.name.clone(), source: String::new() })
    }

    /// The program for PJRT plugins as MLIR bytecode, without shardings.
    fn bytecode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written = interrupt::run(py, &CancelToken::new(), || self.output.bytecode())?;
        Ok(PyBytes::new(py, &self.result(py, written)?))
    }

    /// The inputs and outputs with their shapes and shardings, and the mesh.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.output.manifest().to_json())
    }

    /// All warnings, each as a dictionary.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let warnings = for_python(self.output.warnings.clone());
        let located = |warning| LocatedDiagnostic::new(warning, &self.name, &self.source);
        let located: Vec<_> = warnings.iter().map(located).collect();
        parsed(py, &json(&located))
    }

    /// The warnings that are worth printing, as text with source lines.
    fn warning_text(&self) -> String {
        let warnings = for_python(self.output.warnings_to_print().diagnostics());
        shardc::render(&warnings, &self.name, &self.source, false)
    }

    fn __str__(&self) -> String {
        self.output.text()
    }

    fn __repr__(&self) -> String {
        format!("<shardc.Partition {} for {} devices>", self.name, self.output.num_devices())
    }
}
