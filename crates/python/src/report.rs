//! Reports: the same facts as data, as text and as a page.

use pyo3::prelude::*;
use shardc::ir::{Severity, Span};
use shardc::lint::LintReport;
use shardc::plan::PlanReport;
use shardc::{LocatedDiagnostic, page};

use crate::error::{json, parsed};
use crate::program::Program;

/// A report: `data` has its facts, `str()` is its text, and notebooks show its page.
#[pyclass(frozen, module = "shardc")]
pub(crate) struct Report {
    json: String,
    text: String,
    html: Option<String>,
}

/// The report of `explain`.
pub(crate) fn explained(report: &shardc::explain::Report) -> Report {
    Report { json: report.to_json(), text: report.to_text(false), html: Some(report.to_html()) }
}

/// The report of `plan`; its page also shows the shardings.
pub(crate) fn planned(explained: &shardc::explain::Report, plan: &PlanReport) -> Report {
    let html = page::render(explained, Some(plan));
    Report { json: plan.to_json(), text: plan.to_text(false), html: Some(html) }
}

/// The report of `auto`.
pub(crate) fn searched(report: &shardc::auto::AutoReport) -> Report {
    Report { json: report.to_json(), text: report.to_text(), html: None }
}

/// The findings of `lint`, with their rules.
pub(crate) fn linted(report: &LintReport, program: &Program) -> Report {
    let located = |diagnostic| LocatedDiagnostic::new(diagnostic, &program.name, &program.source);
    let findings = report.findings.iter().map(|finding| {
        let mut object = serde_json::to_value(located(&finding.diagnostic)).unwrap_or_default();
        object["rule"] = finding.lint.name.into();
        object
    });
    let warnings: Vec<_> = report.warnings.iter().map(located).collect();
    let data = serde_json::json!({
        "findings": findings.collect::<Vec<_>>(),
        "warnings": warnings,
        "notes": report.notes,
        "has_errors": report.has_errors(),
    });
    let named = report.findings.iter().map(|finding| {
        let mut diagnostic = finding.diagnostic.clone();
        diagnostic.notes.push((Span::NONE, format!("rule {}", finding.lint.name)));
        diagnostic
    });
    let all: Vec<_> = report.warnings.iter().cloned().chain(named).collect();
    let errors = all.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let counts = format!("{} errors, {} warnings\n", errors, all.len() - errors);
    let text = shardc::render(&all, &program.name, &program.source, false) + &counts;
    Report { json: json(&data), text, html: None }
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
    fn html(&self) -> Option<&str> {
        self.html.as_deref()
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
    fn _repr_html_(&self) -> Option<String> {
        let page = self.html.as_ref()?.replace('&', "&amp;").replace('"', "&quot;");
        Some(format!("<iframe srcdoc=\"{page}\" style=\"width: 100%; height: 600px; border: 0\"></iframe>"))
    }
}
