//! The report of `lint` for front ends: as JSON, and as text with lines of the program.

use serde_json::{Value, json};
use shardc_ir::{Severity, Span};
use shardc_passes::lint::LintReport;

use crate::LocatedDiagnostic;

/// The findings with their rules, the warnings and the notes as JSON. The program `source` is named `name`.
#[must_use]
pub fn to_json(report: &LintReport, name: &str, source: &str) -> Value {
    let located = |diagnostic| LocatedDiagnostic::new(diagnostic, name, source);
    let findings = report.findings.iter().map(|finding| {
        let mut object = serde_json::to_value(located(&finding.diagnostic)).unwrap_or_default();
        object["rule"] = finding.lint.name.into();
        object
    });
    let warnings: Vec<_> = report.warnings.iter().map(located).collect();
    json!({
        "findings": findings.collect::<Vec<_>>(),
        "warnings": warnings,
        "notes": report.notes,
        "has_errors": report.has_errors(),
    })
}

/// The warnings and the findings with their rules as text, and their number.
#[must_use]
pub fn to_text(report: &LintReport, name: &str, source: &str) -> String {
    let named = report.findings.iter().map(|finding| {
        let mut diagnostic = finding.diagnostic.clone();
        diagnostic.notes.push((Span::NONE, format!("rule {}", finding.lint.name)));
        diagnostic
    });
    let all: Vec<_> = report.warnings.iter().cloned().chain(named).collect();
    let errors = all.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    let counts = format!("{} errors, {} warnings\n", errors, all.len() - errors);
    crate::render(&all, name, source, false) + &counts
}
