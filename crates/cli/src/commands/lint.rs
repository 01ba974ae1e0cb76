//! `shardc lint`

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::ir::Span;
use shardc::lint::{Finding, LINTS, Lint, LintOptions, LintReport};
use shardc::{Compiler, Diagnostic, Severity};

use crate::args::LintArgs;
use crate::failure::{Failure, usage};
use crate::job;
use crate::source::Source;
use crate::target;
use crate::ui::Ui;
use crate::ui::json::diagnostic;
use crate::ui::table::Table;
use crate::words::COMMAND_LINE;

pub(crate) fn run(args: &LintArgs, ui: &Ui) -> Result<ExitCode> {
    if args.list {
        ui.result(
            || {
                let mut table = Table::new(&["rule", "code", "warns about"]);
                for lint in LINTS {
                    table.row(vec![lint.name.into(), lint.code.into(), lint.about.into()]);
                }
                ui.table(&table)
            },
            || {
                let rule = |l: &Lint| json!({ "rule": l.name, "code": l.code, "about": l.about });
                json!({ "version": 1, "rules": LINTS.iter().map(rule).collect::<Vec<_>>() })
            },
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(input) = &args.input else {
        return Err(usage("no program is given: use `shardc lint FILE`, or - for standard input"));
    };
    let mut options =
        LintOptions::default().with_levels(&args.allow, &args.deny).map_err(|e| Failure::Refused {
            diagnostics: vec![e],
            name: COMMAND_LINE.to_owned(),
            text: String::new(),
            usage: true,
        })?;
    (options.min_bytes, options.max_per_rule) = (args.min_bytes, args.max);
    let compiler = job::with_rules(job::compiler(&args.annotations, None)?, &args.rules)?;
    let compiler = target::configure(compiler, args.target.chosen()?.as_ref());
    let source = Source::read(input)?;
    let report = Compiler::read(&source.bytes)
        .and_then(|module| compiler.lint(module, &options))
        .map_err(|e| source.explain(&e))?;
    ui.result(|| text(&report, &source, ui), || json(&report, &source))?;
    Ok(ExitCode::from(u8::from(report.has_errors())))
}

/// Renders the findings with their source lines, notes about parts of the program that were not checked, and the number of findings.
fn text(report: &LintReport, source: &Source, ui: &Ui) -> String {
    let found = report.findings.iter().map(|finding| {
        let rule = (Span::NONE, format!("rule {}", finding.lint.name));
        let mut diagnostic = finding.diagnostic.clone();
        diagnostic.notes.push(rule);
        diagnostic
    });
    let all: Vec<Diagnostic> = report.warnings.iter().cloned().chain(found).collect();
    let mut out = ui.rendered(&all, source);
    if !out.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    let (errors, warnings): (Vec<_>, Vec<_>) = all.iter().partition(|d| d.severity == Severity::Error);
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    out.push_str(&match (errors.len(), warnings.len()) {
        (0, 0) => format!("{}: no warnings\n", source.name),
        (0, n) => format!("{}: {}\n", source.name, count(n, "warning")),
        (e, n) => format!("{}: {}, {}\n", source.name, count(e, "error"), count(n, "warning")),
    });
    out
}

/// Renders the findings as JSON.
fn json(report: &LintReport, source: &Source) -> Value {
    let text = source.text();
    // Line and column are also in an object `place`, for compatibility.
    let placed = |found: &Diagnostic| {
        let mut object = diagnostic(found, &source.name, &text);
        object["place"] = match object["line"] {
            Value::Null => Value::Null,
            _ => json!({ "line": object["line"], "column": object["column"] }),
        };
        object
    };
    let finding = |finding: &Finding| {
        let mut object = placed(&finding.diagnostic);
        object["rule"] = json!(finding.lint.name);
        object["bytes"] = json!(finding.diagnostic.bytes.unwrap_or(0));
        object
    };
    json!({
        "version": 1,
        "file": source.name,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(placed).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}
