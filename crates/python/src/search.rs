//! The search for shardings.

use std::thread;

use pyo3::prelude::*;
use shardc::auto::AutoOptions;
use shardc::{Annotation, MeshSpec};

use crate::error::raised;
use crate::options::{self, Compiler};
use crate::program::Program;
use crate::report::{self, Report};

/// Finds the mesh and the shardings with the least estimated time. Returns the annotated program and the report.
#[pyfunction]
#[pyo3(signature = (compiler, program, target, *, mesh = None, specs = Vec::new(), memory = None, ignore_shardings = false))]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments of Python")]
pub(crate) fn auto(
    py: Python<'_>,
    compiler: &Compiler,
    program: &Program,
    target: &str,
    mesh: Option<&str>,
    specs: Vec<(String, String)>,
    memory: Option<u64>,
    ignore_shardings: bool,
) -> PyResult<(Program, Report)> {
    let refused = |origin, text: &str, error: &shardc::SpecError| {
        raised(py, &error.to_diagnostic(origin, text).into(), options::NAME, "")
    };
    let mesh = mesh
        .map(|text| {
            text.parse::<MeshSpec>().map(|spec| spec.to_mesh()).map_err(|e| refused("mesh", text, &e))
        })
        .transpose()?;
    let annotation = |(selector, spec): &(String, String)| {
        Annotation::new(selector, spec).map_err(|e| refused("spec", &format!("{selector}={spec}"), &e))
    };
    let options = AutoOptions {
        mesh,
        annotations: specs.iter().map(annotation).collect::<PyResult<_>>()?,
        memory,
        ignores_shardings: ignore_shardings,
        threads: thread::available_parallelism().map_or(1, usize::from),
        ..AutoOptions::new(&program.name, options::target(target)?)
    };
    let found = compiler.run(py, program, |compiler| compiler.auto(program.module.clone(), &options))?;
    Ok((program.derived(found.module), report::searched(&found.report)))
}
