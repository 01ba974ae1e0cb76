//! `shardc prove`

mod counter;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use shardc::ir::Module;
use shardc::prove::{self, Certificate, Evidence, GradientReport, Options, Place, Report, Verdict};
use shardc::{Compiler, Error, Manifest};

use crate::args::ProveArgs;
use crate::source::Source;
use crate::ui::Ui;
use crate::ui::table::Table;

/// The most places that are printed as text.
const SHOWN: usize = 10;

pub(crate) fn run(args: &ProveArgs, ui: &Ui) -> Result<ExitCode> {
    let original = Source::read(&args.original)?;
    let partitioned = Source::read(&args.partitioned)?;
    let read = |source: &Source| Compiler::read(&source.bytes).map_err(|error| source.explain(&error));
    let (mut global, mut local) = (read(&original)?, read(&partitioned)?);
    let explained = |error: Error| original.explain(&error);
    if args.gradient {
        let wrt: Vec<&str> = args.wrt.iter().map(String::as_str).collect();
        let report = prove::check_gradient(&global, &local, &wrt, &Options::default()).map_err(explained)?;
        ui.result(|| gradient_text(&report, &global), || gradient_document(&report, &global))?;
        return Ok(if report.is_equal() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if !args.zero.is_empty() {
        let zeros: Vec<&str> = args.zero.iter().map(String::as_str).collect();
        (global, local) = prove::with_zeros(&global, &local, &zeros).map_err(explained)?;
    }
    let manifest = match &args.manifest {
        Some(path) => manifest(path)?,
        None => prove::annotated_manifest(&global, &local).map_err(explained)?,
    };
    let work = if args.work_limit == 0 { u64::MAX } else { args.work_limit };
    let mut options = Options { test_work: (!args.no_test).then_some(work), ..Options::default() };
    options.certificate = args.certificate.as_deref().map(certificate).transpose()?.map(Arc::new);
    let report = prove::prove(&global, &local, &manifest, &options).map_err(explained)?;
    let example = match (&args.counter_example, report.verdict) {
        (Some(folder), Verdict::Refuted) => {
            let found = prove::counter_example(&global, &local, &manifest, &options).map_err(explained)?;
            Some(counter::write(folder, found.as_ref())?)
        }
        _ => None,
    };
    ui.result(
        || {
            let mut out = text(&report, &partitioned, ui);
            out.extend(example.as_ref().map(counter::Written::text));
            out
        },
        || {
            let mut document = document(&report, &partitioned);
            document["counter_example"] = json!(example.as_ref().map(counter::Written::document));
            document
        },
    )?;
    Ok(match report.verdict {
        Verdict::Proven | Verdict::Tested => ExitCode::SUCCESS,
        Verdict::Refuted | Verdict::NotDecided => ExitCode::FAILURE,
    })
}

fn argument(module: &Module, at: usize) -> String {
    module.entry().map(|func| module.funcs[func].shown_argument(&module.locs, at)).unwrap_or_default()
}

fn gradient_verdict(report: &GradientReport) -> Verdict {
    match (&report.undecided, report.is_equal()) {
        (Some(_), _) => Verdict::NotDecided,
        (None, true) => Verdict::Tested,
        (None, false) => Verdict::Refuted,
    }
}

/// The verdict about a gradient, and the arguments whose gradients differ.
fn gradient_text(report: &GradientReport, original: &Module) -> String {
    let equal = report.arguments.iter().filter(|(_, is)| *is).count();
    let reason = match &report.undecided {
        Some(reason) => reason.clone(),
        None => format!(
            "{equal} of {} gradients equal derivatives along random directions in exact arithmetic",
            report.arguments.len()
        ),
    };
    let mut out = format!("{}: {reason}\n", words(gradient_verdict(report)));
    if report.value == Some(false) {
        out.push_str("the value differs\n");
    }
    for &(at, _) in report.arguments.iter().filter(|(_, is)| !is) {
        let _ = writeln!(out, "the gradient with respect to {} differs", argument(original, at));
    }
    out
}

fn gradient_document(report: &GradientReport, original: &Module) -> Value {
    let arguments = report
        .arguments
        .iter()
        .map(|&(at, is)| json!({ "index": at, "name": argument(original, at), "equal": is }));
    json!({
        "version": 1,
        "verdict": words(gradient_verdict(report)),
        "value": report.value,
        "arguments": arguments.collect::<Vec<_>>(),
        "untested": report.undecided,
    })
}

fn manifest(path: &Path) -> Result<Manifest> {
    let source = Source::read(path)?;
    serde_json::from_slice(&source.bytes)
        .with_context(|| format!("{} is not a manifest of `shardc partition`", source.name))
}

fn certificate(path: &Path) -> Result<Certificate> {
    let source = Source::read(path)?;
    serde_json::from_slice(&source.bytes)
        .with_context(|| format!("{} is not a certificate of `shardc partition`", source.name))
}

/// A certificate as JSON: a line for each operation.
pub(crate) fn certificate_text(certificate: &Certificate) -> Result<String> {
    let steps = certificate.steps.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let mark = serde_json::to_string(&certificate.original)?;
    let head = format!("{{\"version\": {}, \"original\": {mark}, \"steps\": [\n", certificate.version);
    Ok(format!("{head}{}\n]}}\n", steps.join(",\n")))
}

/// The line of a place, if it is in the text.
fn position(place: &Place, source: &Source) -> Option<String> {
    let text = source.text();
    let before = text.get(..place.span.start as usize).filter(|_| place.span.is_some())?;
    Some(format!("{}:{}", source.name, before.matches('\n').count() + 1))
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proven => "proven",
        Verdict::Tested => "tested",
        Verdict::Refuted => "refuted",
        Verdict::NotDecided => "not decided",
    }
}

/// The verdict, the first places, and the operations by kind.
pub(crate) fn text(report: &Report, source: &Source, ui: &Ui) -> String {
    let outputs = report.outputs.iter().filter(|&&is| is).count();
    let all = report.outputs.len();
    let (proven, open) = report
        .kinds
        .values()
        .fold((0, 0), |(proven, open), counts| (proven + counts.proven, open + counts.not_decided));
    let reason = match (report.verdict, report.evidence, &report.untested) {
        (Verdict::Proven, ..) => "in exact arithmetic, for all inputs".to_owned(),
        (Verdict::Tested, ..) => "equal in exact arithmetic for random inputs, but not proven".to_owned(),
        (Verdict::Refuted, Some(Evidence::Test), _) => "results differ for random inputs".to_owned(),
        (Verdict::Refuted, Some(Evidence::Deadlock), _) => {
            "devices wait for each other without end".to_owned()
        }
        (Verdict::Refuted, Some(Evidence::Intermediate), _) => {
            "the programs were not run, but a value inside differs".to_owned()
        }
        (Verdict::Refuted, ..) => "an output is a partial result in place of the complete value".to_owned(),
        (_, _, Some(reason)) => format!("not tested: {reason}"),
        (Verdict::NotDecided, _, None) => "not tested".to_owned(),
    };
    let mut out = format!("{}: {reason}; outputs proven: {outputs} of {all}\n", words(report.verdict));
    if let Some(reason) = &report.certificate {
        let _ = writeln!(out, "the certificate was not used: {reason}");
    }
    for place in report.places.iter().take(SHOWN) {
        let at = position(place, source).map(|at| format!(" at {at}")).unwrap_or_default();
        let location = place.location.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
        let _ = writeln!(out, "{}{at}{location}: {}; needed: {}", place.operation, place.found, place.needed);
    }
    if let more @ 1.. = report.places.len().saturating_sub(SHOWN) {
        let _ = writeln!(out, "and {more} more places");
    }
    if open > 0 {
        let mut table = Table::new(&["operation", ">proven", ">not decided"]);
        for (kind, counts) in report.kinds.iter().filter(|(_, counts)| counts.not_decided > 0) {
            table.row(vec![kind.clone(), counts.proven.to_string(), counts.not_decided.to_string()]);
        }
        out.push_str(&ui.table(&table));
    }
    let _ = writeln!(out, "operations proven: {proven} of {}", proven + open);
    out
}

/// The report as JSON.
pub(crate) fn document(report: &Report, source: &Source) -> Value {
    let kinds: serde_json::Map<String, Value> = report
        .kinds
        .iter()
        .map(|(kind, counts)| {
            (kind.clone(), json!({ "proven": counts.proven, "not_decided": counts.not_decided }))
        })
        .collect();
    let places = report.places.iter().map(|place| {
        json!({
            "operation": place.operation,
            "at": position(place, source),
            "location": place.location,
            "found": place.found,
            "needed": place.needed,
            "outputs": place.outputs,
        })
    });
    json!({
        "version": 1,
        "verdict": words(report.verdict),
        "evidence": report.evidence.map(|evidence| match evidence {
            Evidence::Test => "test",
            Evidence::Relation => "relation",
            Evidence::Deadlock => "deadlock",
            Evidence::Intermediate => "intermediate",
        }),
        "outputs": report.outputs,
        "operations": kinds,
        "places": places.collect::<Vec<_>>(),
        "untested": report.untested,
        "certificate_unused": report.certificate,
    })
}
