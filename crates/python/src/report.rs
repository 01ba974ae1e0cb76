//! Reports: the same facts as data, as text and as a page.

use std::sync::OnceLock;

use pyo3::prelude::*;
use shardc::lint::{self, LintReport};
use shardc::plan::PlanReport;
use shardc::{CancelToken, page};

use crate::error::{json, parsed, raised};
use crate::interrupt;
use crate::program::Program;

/// Makes the page of a report.
type MakePage = Box<dyn Fn() -> Result<String, shardc::Error> + Send + Sync>;

/// A report: `data` has its facts, `str()` is its text, and notebooks show its page.
#[pyclass(frozen, module = "shardc")]
pub(crate) struct Report {
    json: String,
    text: String,
    /// The page is made when it is first read; `None` if there is no page for the report.
    make_page: Option<MakePage>,
    page: OnceLock<String>,
}

impl Report {
    fn new(json: String, text: String, make_page: Option<MakePage>) -> Report {
        Report { json, text, make_page, page: OnceLock::new() }
    }
}

/// The report of `explain`.
pub(crate) fn explained(report: shardc::explain::Report) -> Report {
    let (json, text) = (report.to_json(), report.to_text(false));
    Report::new(json, text, Some(Box::new(move || Ok(report.to_html()))))
}

/// The report of `plan`; `explain` explains the shardings for its page.
pub(crate) fn planned(
    plan: PlanReport,
    explain: impl Fn() -> Result<shardc::explain::Report, shardc::Error> + Send + Sync + 'static,
) -> Report {
    let (json, text) = (plan.to_json(), plan.to_text(false));
    Report::new(json, text, Some(Box::new(move || Ok(page::render(&explain()?, Some(&plan))))))
}

/// The report of `auto`.
pub(crate) fn searched(report: &shardc::auto::AutoReport) -> Report {
    Report::new(report.to_json(), report.to_text(), None)
}

/// The findings of `lint`, with their rules.
pub(crate) fn linted(report: &LintReport, program: &Program) -> Report {
    let (name, source) = (program.name.as_str(), program.source.as_str());
    let (data, text) = (lint::to_json(report, name, source), lint::to_text(report, name, source));
    Report::new(json(&data), text, None)
}

#[pymethods]
impl Report {
    /// The report as dictionaries and lists; the fields are those of the program's `--json`.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.json)
    }

    /// The report as JSON text.
    fn json(&self) -> &str {
        &self.json
    }

    /// The report as a self-contained page; `None` if there is no page for it.
    fn html(&self, py: Python<'_>) -> PyResult<Option<&str>> {
        let Some(make) = &self.make_page else { return Ok(None) };
        if self.page.get().is_none() {
            let made = interrupt::run(py, &CancelToken::new(), make)?;
            let _ = self.page.set(made.map_err(|error| raised(py, &error, "", ""))?);
        }
        Ok(self.page.get().map(String::as_str))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        self.data(py)?.get_item(key)
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> &str {
        &self.text
    }

    /// The page in a frame, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let Some(page) = self.html(py)? else { return Ok(None) };
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        Ok(Some(format!(
            "<iframe srcdoc=\"{page}\" style=\"width: 100%; height: 600px; border: 0\"></iframe>"
        )))
    }
}
