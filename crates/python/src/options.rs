//! The options of the compiler, and what it does with a program.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shardc::explain::{ExplainOptions, Question};
use shardc::lint::LintOptions;
use shardc::plan::PlanOptions;
use shardc::rules::RuleFile;
use shardc::target::Target;
use shardc::{CancelToken, CleanOptions, SpmdMode};

use crate::error::raised;
use crate::interrupt;
use crate::partition::Partition;
use crate::program::Program;
use crate::report::{self, Report};

/// The name of the options in messages.
pub(crate) const NAME: &str = "<options>";

/// The options of a compilation.
#[pyclass(frozen, module = "shardc")]
pub(crate) struct Compiler {
    compiler: shardc::Compiler,
}

/// A target with a grid, such as `v5e:2x4`, or the text of a TOML file that describes one.
pub(crate) fn target(text: &str) -> PyResult<Arc<Target>> {
    let parsed = if text.contains('=') { Target::from_toml(text) } else { text.parse() };
    parsed.map(Arc::new).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns the compiler for a kind of device, such as `v5e`, or for a [target].
fn for_target(compiler: shardc::Compiler, text: &str) -> PyResult<shardc::Compiler> {
    Ok(match shardc::target::find(text) {
        Some(device) => compiler.device(device),
        None => compiler.target(target(text)?),
    })
}

#[pymethods]
impl Compiler {
    #[new]
    #[pyo3(signature = (
        *, mesh = None, specs = Vec::new(), mode = "partition", target = None, strict = false, warn_bytes = None, combine_bytes = None,
        inline_budget = None, entry = None, dims = Vec::new(), rules = None, time_limit = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        mesh: Option<&str>,
        specs: Vec<(String, String)>,
        mode: &str,
        target: Option<&str>,
        strict: bool,
        warn_bytes: Option<u64>,
        combine_bytes: Option<u64>,
        inline_budget: Option<u64>,
        entry: Option<&str>,
        dims: Vec<(String, i64)>,
        rules: Option<&str>,
        time_limit: Option<f64>,
    ) -> PyResult<Compiler> {
        let mode = match mode {
            "partition" => SpmdMode::Partition,
            "replica" => SpmdMode::Replica,
            other => {
                return Err(PyValueError::new_err(format!(
                    "mode is 'partition' or 'replica', not {other:?}"
                )));
            }
        };
        let refused = |error: shardc::Error| raised(py, &error, NAME, "");
        let mut compiler = shardc::Compiler::new().spmd_mode(mode).strict(strict);
        if let Some(bytes) = combine_bytes {
            compiler = compiler.clean(CleanOptions { combine_bytes: bytes, ..CleanOptions::default() });
        }
        if let Some(text) = target {
            compiler = for_target(compiler, text)?;
        }
        if let Some(text) = mesh {
            compiler = compiler.mesh(text).map_err(refused)?;
        }
        for (selector, spec) in &specs {
            compiler = compiler.spec(selector, spec).map_err(refused)?;
        }
        for (name, size) in &dims {
            compiler = compiler.dim(name, *size);
        }
        if let Some(text) = rules {
            compiler =
                compiler.rules(&RuleFile::parse(text).map_err(|error| raised(py, &error, "<rules>", text))?);
        }
        if let Some(name) = entry {
            compiler = compiler.entry(name);
        }
        if let Some(operations) = inline_budget {
            compiler = compiler.inline_budget(operations);
        }
        if let Some(bytes) = warn_bytes {
            compiler = compiler.warn_bytes(bytes);
        }
        if let Some(seconds) = time_limit {
            let limit = Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            compiler = compiler.time_limit(limit);
        }
        Ok(Compiler { compiler })
    }

    /// Partitions a program.
    fn partition(&self, py: Python<'_>, program: &Program) -> PyResult<Partition> {
        let output = self.run(py, program, |compiler| compiler.partition_module(program.module.clone()))?;
        Ok(Partition::new(output, program))
    }

    /// Propagates shardings: the program with a sharding on every value.
    fn propagate(&self, py: Python<'_>, program: &Program) -> PyResult<Program> {
        let propagated = self.run(py, program, |compiler| compiler.propagate(program.module.clone()))?;
        Ok(program.derived(propagated.module))
    }

    /// Explains the shardings and the collectives of a program.
    #[pyo3(signature = (program, *, value = None, collective = None, remedies = 0))]
    fn explain(
        &self,
        py: Python<'_>,
        program: &Program,
        value: Option<String>,
        collective: Option<usize>,
        remedies: usize,
    ) -> PyResult<Report> {
        let question = match (value, collective) {
            (Some(name), _) => Question::Value(name),
            (None, Some(number)) => Question::Collective(number),
            (None, None) => Question::Overview,
        };
        let options = ExplainOptions { remedies, ..ExplainOptions::default() };
        let source = (program.name.as_str(), program.source.as_str());
        let explained = self.run(py, program, |compiler| {
            compiler.explain_module(program.module.clone(), source, &question, &options)
        })?;
        Ok(report::explained(explained.report))
    }

    /// Reports annotations that probably cost more than intended.
    #[pyo3(signature = (program, *, allow = Vec::new(), deny = Vec::new()))]
    fn lint(
        &self,
        py: Python<'_>,
        program: &Program,
        allow: Vec<String>,
        deny: Vec<String>,
    ) -> PyResult<Report> {
        let options = LintOptions::default()
            .with_levels(&allow, &deny)
            .map_err(|error| raised(py, &error.into(), NAME, ""))?;
        let linted = self.run(py, program, |compiler| compiler.lint(program.module.clone(), &options))?;
        Ok(report::linted(&linted, program))
    }

    /// Estimates memory and time of a device, and suggests changes.
    #[pyo3(signature = (program, target, *, memory = None, changes = true))]
    fn plan(
        &self,
        py: Python<'_>,
        program: &Program,
        target: &str,
        memory: Option<u64>,
        changes: bool,
    ) -> PyResult<Report> {
        let options =
            PlanOptions { memory, changes, ..PlanOptions::new(&program.name, self::target(target)?) };
        let planned = self.run(py, program, |compiler| compiler.plan(program.module.clone(), &options))?;
        let (compiler, module) = (self.compiler.clone(), program.module.clone());
        let (name, source) = (program.name.clone(), program.source.clone());
        let explain = move || {
            let (question, options) = (Question::Summary, ExplainOptions::default());
            let explained = compiler.explain_module(
                module.clone(),
                (name.as_str(), source.as_str()),
                &question,
                &options,
            );
            explained.map(|explained| explained.report)
        };
        Ok(report::planned(planned.report, explain))
    }
}

impl Compiler {
    /// Runs a part of the compiler without the interpreter's lock.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        program: &Program,
        work: impl FnOnce(&shardc::Compiler) -> Result<T, shardc::Error> + Send,
    ) -> PyResult<T> {
        let token = CancelToken::new();
        let compiler = self.compiler.clone().cancel_token(token.clone());
        interrupt::run(py, &token, move || work(&compiler))?.map_err(|error| program.raise(py, &error))
    }
}
