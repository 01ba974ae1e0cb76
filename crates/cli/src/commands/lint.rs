//! `shardc lint`

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use shardc::ir::Span;
use shardc::lint::{Finding, LINTS, LintOptions, LintReport};
use shardc::{Compiler, Diagnostic, Error, Severity};

use crate::args::{LintArgs, ReportFormat};
use crate::io::{self, Source, usage};
use crate::table::Table;

pub(crate) fn run(args: &LintArgs) -> Result<ExitCode> {
    if args.list {
        let mut table = Table::new(&["rule", "code", "what it warns of"]);
        for lint in LINTS {
            table.row(vec![lint.name.into(), lint.code.into(), lint.about.into()]);
        }
        io::print(&table)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(input) = &args.input else {
        return Err(usage("which program? `shardc lint FILE`, or - for the standard input"));
    };
    let mut options = LintOptions::default()
        .with_levels(&args.allow, &args.deny)
        .map_err(|e| usage(Error::from(e).render("<command line>", "", false)))?;
    (options.min_bytes, options.max_per_rule) = (args.min_bytes, args.max);
    let compiler = io::compiler(&args.annotations, None)?;
    let source = Source::read(input)?;
    let report = Compiler::read(&source.bytes)
        .and_then(|module| compiler.lint(module, &options))
        .map_err(|e| source.explain(&e))?;
    match args.format {
        ReportFormat::Text if !args.json => io::print(text(&report, &source))?,
        ReportFormat::Text | ReportFormat::Json => {
            io::print(format_args!("{:#}\n", json(&report, &source)))?;
        }
    }
    Ok(ExitCode::from(u8::from(report.has_errors())))
}

/// The findings under their lines, what was not looked at, and how many there are.
fn text(report: &LintReport, source: &Source) -> String {
    let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let found = report.findings.iter().map(|finding| {
        let rule = (Span::NONE, format!("rule {}", finding.lint.name));
        let mut diagnostic = finding.diagnostic.clone();
        diagnostic.notes.push(rule);
        diagnostic
    });
    let all: Vec<Diagnostic> = report.warnings.iter().cloned().chain(found).collect();
    let mut out = shardc::render(&all, &source.name, &source.text(), color);
    if !out.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    let (errors, warnings): (Vec<_>, Vec<_>) = all.iter().partition(|d| d.severity == Severity::Error);
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    out.push_str(&match (errors.len(), warnings.len()) {
        (0, 0) => format!("{}: nothing to warn of\n", source.name),
        (0, n) => format!("{}: {}\n", source.name, count(n, "warning")),
        (e, n) => format!("{}: {}, {}\n", source.name, count(e, "error"), count(n, "warning")),
    });
    out
}

/// The same for machines.
fn json(report: &LintReport, source: &Source) -> Value {
    let text = source.text();
    let finding = |finding: &Finding| {
        let mut object = diagnostic(&finding.diagnostic, &text);
        object["rule"] = json!(finding.lint.name);
        object["bytes"] = json!(finding.bytes);
        object
    };
    json!({
        "version": 1,
        "file": source.name,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(|d| diagnostic(d, &text)).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn diagnostic(diagnostic: &Diagnostic, text: &str) -> Value {
    let place = |span: Span| place(span, text);
    let notes = diagnostic.notes.iter().map(|(span, note)| json!({ "message": note, "place": place(*span) }));
    json!({
        "code": diagnostic.code,
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": diagnostic.message,
        "place": place(diagnostic.span),
        "user_location": diagnostic.user_loc,
        "hint": diagnostic.hint,
        "notes": notes.collect::<Vec<_>>(),
    })
}

/// Line and column, from 1; null where there is no place, or no text.
fn place(span: Span, text: &str) -> Value {
    let before = usize::try_from(span.start).ok().filter(|_| span.is_some()).and_then(|at| text.get(..at));
    let Some(before) = before.filter(|_| !text.is_empty()) else { return Value::Null };
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    json!({ "line": line, "column": before[line_start..].chars().count() + 1 })
}
