// The schedule as a trace in Chrome's trace event format, which ui.perfetto.dev opens; the same as `PlanReport::to_trace_json`.

function traceOf(plan) {
  const lanes = [...new Set(plan.time.spans.map((span) => span.lane))];
  const metadata = (name, tid, value) => ({ ph: "M", pid: 0, tid, name, args: { name: value } });
  const events = [metadata("process_name", 0, plan.source + " on " + plan.target.name),
    ...lanes.map((lane, tid) => metadata("thread_name", tid, lane))];
  for (const span of plan.time.spans) {
    const args = { runs: span.runs };
    if (span.bytes) args.bytes = span.bytes;
    if (span.scope !== undefined) args.scope = span.scope;
    if (span.place.line !== undefined) args.line = span.place.line;
    if (span.place.user !== undefined) args.source = span.place.user;
    events.push({ ph: "X", pid: 0, tid: lanes.indexOf(span.lane), name: span.name, cat: span.lane,
      ts: span.start * 1e6, dur: span.seconds * 1e6, args });
  }
  return { displayTimeUnit: "ms", traceEvents: events };
}
