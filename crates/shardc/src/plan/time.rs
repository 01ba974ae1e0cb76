//! The time of one execution: sums, schedule and loops.

use shardc_passes::cost::time::{Span, TimeEstimate};
use shardc_passes::cost::traffic::bytes_sent;

use super::report::{LoopReport, SpanReport, TimeReport};
use crate::Output;
use crate::explain::SourcePlace;

/// The maximum number of spans of a report. If there are more, short neighbors are merged.
const SPANS: usize = 4000;

/// The time of a partition. `ideal` are the seconds of a device's share of the program's matrix products at peak rates.
pub(super) fn report(output: &Output, time: &TimeEstimate, ideal: f64) -> TimeReport {
    let place = |op| SourcePlace { user: output.module.user_loc(op), ..SourcePlace::default() };
    let total = &time.total;
    let loops =
        time.loops.iter().map(|of| LoopReport { trips: of.trips, seconds: of.seconds, place: place(of.op) });
    TimeReport {
        seconds: total.seconds,
        compute: total.compute,
        memory_bound: total.memory_bound,
        launches: total.launches,
        communication: total.communication,
        exposed: total.exposed,
        flops: total.flops,
        hfu: if total.seconds > 0.0 { ideal / total.seconds } else { 0.0 },
        spans: merged(output, &time.spans, total.seconds / SPANS as f64),
        loops: loops.collect(),
    }
}

/// The spans as a report. Neighbors of the same lane are merged while they are together shorter than `shortest`.
fn merged(output: &Output, spans: &[Span], shortest: f64) -> Vec<SpanReport> {
    let module = &output.module;
    let is_short = spans.len() > SPANS;
    let mut reports: Vec<SpanReport> = Vec::new();
    // The last report of each lane.
    let mut last: [Option<usize>; 2] = [None, None];
    for span in spans {
        let lane = usize::from(span.is_collective);
        let bytes = bytes_sent(module, span.op).unwrap_or(0).saturating_mul(span.runs);
        if let Some(at) = last[lane]
            && is_short
            && reports[at].runs == span.runs
            && span.start + span.seconds - reports[at].start < shortest
        {
            let report = &mut reports[at];
            report.operations += span.operations;
            report.busy += span.seconds;
            report.name = format!("{} operations", report.operations);
            report.seconds = span.start + span.seconds - report.start;
            report.bytes = report.bytes.saturating_add(bytes);
            continue;
        }
        last[lane] = Some(reports.len());
        let data = &module.ops[span.op];
        reports.push(SpanReport {
            name: data.kind.name().trim_start_matches("stablehlo.").to_owned(),
            lane: if span.is_collective { "communication" } else { "compute" }.to_owned(),
            start: span.start,
            seconds: span.seconds,
            busy: span.seconds,
            operations: span.operations,
            scope: None,
            runs: span.runs,
            bytes: if span.is_collective { bytes } else { 0 },
            place: SourcePlace { user: module.user_loc(span.op), ..SourcePlace::default() },
        });
    }
    reports
}
