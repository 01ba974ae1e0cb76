//! `shardc diff`

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::Compiler;
use shardc::explain::{ExplainOptions, Explained, Question, Report};
use shardc::snapshot::{Change, Snapshot, SnapshotDiff};

use super::snapshot::snapshot;
use crate::args::DiffArgs;
use crate::failure::usage;
use crate::job::{self, Prepared};
use crate::source::Source;
use crate::ui::Ui;

/// One side of the comparison. A snapshot has no report.
struct Side {
    snapshot: Snapshot,
    report: Option<Report>,
}

pub(crate) fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    let standard = Path::new("-");
    if args.before == standard && args.after == standard {
        return Err(usage("both versions are standard input: name a file for one of them"));
    }
    if args.how.observe.timings.is_some() || !args.how.observe.print_after.is_empty() {
        return Err(usage(
            "`shardc diff` does not report passes: use `shardc partition` for --timings and --print-after",
        ));
    }
    let before = side(&args.before, args, ui)?;
    let after = side(&args.after, args, ui)?;
    let mut diff = SnapshotDiff::between(&before.snapshot, &after.snapshot);
    if let (Some(before), Some(after)) = (&before.report, &after.report) {
        diff = diff.with_causes(before, after);
    }
    let diff = diff.folded();
    let limits = [
        ("bytes sent", &diff.sent, args.threshold),
        ("peak memory", &diff.peak, args.threshold_memory.unwrap_or(args.threshold)),
        ("predicted time", &diff.execution, args.threshold_time.unwrap_or(args.threshold)),
    ];
    let exceeded: Vec<String> = limits.iter().filter_map(|limit| exceeds(*limit)).collect();
    ui.result(
        || {
            let lines: String = exceeded.iter().map(|line| format!("{line}\n")).collect();
            ui.fitted(format!("{}{lines}", diff.to_text()))
        },
        || {
            let mut document = serde_json::to_value(&diff).unwrap_or_default();
            document["exceeded"] = json!(exceeded);
            document
        },
    )?;
    Ok(if exceeded.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The message about growth above a threshold.
fn exceeds((what, change, threshold): (&str, &Change<u64>, f64)) -> Option<String> {
    let growth = change.growth();
    (growth > threshold)
        .then(|| format!("{what} grew {}; the threshold is {} %", change.growth_text(), threshold * 100.0))
}

/// Reads a snapshot, or partitions a program.
fn side(path: &Path, args: &DiffArgs, ui: &Ui) -> Result<Side> {
    let source = Source::read(path)?;
    if Snapshot::is_snapshot(&source.bytes) {
        let snapshot = Snapshot::parse(&source.text()).map_err(|e| source.explain(&e))?;
        return Ok(Side { snapshot, report: None });
    }
    let module = Compiler::parse(&source.bytes).map_err(|e| source.explain(&e))?;
    let how = args.how.for_machine(args.target.chosen()?);
    let Prepared { compiler, module, .. } = job::prepare(module, &source, &args.annotations, &how, ui)?;
    let text = source.text();
    let options = ExplainOptions::default();
    let Explained { report, partitioned } = compiler
        .explain_module(module.clone(), (&source.name, &text), &Question::Origins, &options)
        .map_err(|e| source.explain(&e))?;
    let output = partitioned.map_err(|e| source.explain(&e))?;
    Ok(Side { snapshot: snapshot(&output, &module, &how)?, report: Some(report) })
}
