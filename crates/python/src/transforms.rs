//! Transformations of programs: gradients, and strategies of training steps.

use pyo3::prelude::*;
use shardc::ir::Module;
use shardc::strategy::{self, Settings};
use shardc::{CancelToken, autodiff};

use crate::interrupt;
use crate::program::Program;

impl Program {
    /// Returns the program that `change` makes of a copy of this one.
    fn changed(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Module) -> Result<(), shardc::Error> + Send,
    ) -> PyResult<Program> {
        let mut module = self.module.clone();
        let changed = interrupt::run(py, &CancelToken::new(), || change(&mut module).map(|()| module))?;
        Ok(self.derived(changed.map_err(|error| self.raise(py, &error))?))
    }
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The program that returns the gradients of its first result, a scalar, with respect to the named arguments; with `value`, also the result.
#[pyfunction]
#[pyo3(signature = (program, wrt, *, value = false))]
pub(crate) fn grad(py: Python<'_>, program: &Program, wrt: Vec<String>, value: bool) -> PyResult<Program> {
    program.changed(py, |module| {
        let wrt = autodiff::arguments(module, &borrowed(&wrt))?;
        if value { autodiff::value_and_grad(module, &wrt) } else { autodiff::grad(module, &wrt) }
    })
}

/// Annotates a training step with the shardings of a strategy in words, such as `full_shard auto_wrap`.
#[pyfunction]
#[pyo3(signature = (program, strategy, mesh, *, roles = Vec::new(), loss = None))]
pub(crate) fn fsdp(
    py: Python<'_>,
    program: &Program,
    strategy: &str,
    mesh: &str,
    roles: Vec<String>,
    loss: Option<String>,
) -> PyResult<Program> {
    program.changed(py, |module| {
        let settings = Settings::from_words(strategy)?;
        let overrides = strategy::role_overrides(module, &borrowed(&roles), loss.as_deref())?;
        let roles = strategy::roles(module, &overrides)?;
        strategy::apply(module, &roles, &settings, mesh)?;
        Ok(())
    })
}
