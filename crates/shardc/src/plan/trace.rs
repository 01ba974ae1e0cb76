//! The schedule of a plan as a trace, for ui.perfetto.dev and chrome://tracing.

use indexmap::IndexSet;
use serde_json::{Value, json};

use super::report::{PlanReport, SpanReport};

/// Microseconds per second: the unit of a trace.
const MICROSECONDS: f64 = 1e6;

impl PlanReport {
    /// The schedule in Chrome's trace event format: one process, with a thread for each resource (`compute`, `communication`).
    ///
    /// The body of a loop appears once, with the time of all iterations; `runs` in the arguments of an event is the number of executions.
    #[must_use]
    pub fn to_trace_json(&self) -> String {
        let lanes: IndexSet<&str> = self.time.spans.iter().map(|span| span.lane.as_str()).collect();
        let mut events =
            vec![metadata("process_name", 0, &format!("{} on {}", self.source, self.target.name))];
        events.extend(lanes.iter().enumerate().map(|(tid, lane)| metadata("thread_name", tid, lane)));
        for span in &self.time.spans {
            let tid = lanes.get_index_of(span.lane.as_str()).unwrap_or(0);
            events.push(event(span, tid));
        }
        json!({"displayTimeUnit": "ms", "traceEvents": events}).to_string()
    }
}

fn metadata(name: &str, tid: usize, value: &str) -> Value {
    json!({"ph": "M", "pid": 0, "tid": tid, "name": name, "args": {"name": value}})
}

fn event(span: &SpanReport, tid: usize) -> Value {
    let mut args = json!({"runs": span.runs});
    let details = [
        (span.bytes > 0).then(|| ("bytes", json!(span.bytes))),
        span.scope.as_ref().map(|scope| ("scope", json!(scope))),
        span.place.line.map(|line| ("line", json!(line))),
        span.place.user.as_ref().map(|user| ("source", json!(user))),
    ];
    for (name, value) in details.into_iter().flatten() {
        args[name] = value;
    }
    json!({
        "ph": "X", "pid": 0, "tid": tid, "name": span.name, "cat": span.lane,
        "ts": span.start * MICROSECONDS, "dur": span.seconds * MICROSECONDS, "args": args,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::plan::{PlanReport, SpanReport};

    #[test]
    fn lanes_are_threads() {
        let span = |name: &str, lane: &str, start: f64| SpanReport {
            name: name.to_owned(),
            lane: lane.to_owned(),
            start,
            seconds: 0.5,
            runs: 3,
            ..SpanReport::default()
        };
        let mut plan = PlanReport { source: "step.mlir".to_owned(), ..PlanReport::default() };
        plan.time.spans =
            vec![span("dot", "compute", 0.0), span("all_gather", "ICI", 0.25), span("add", "compute", 0.5)];
        let trace: Value = serde_json::from_str(&plan.to_trace_json()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let threads = events.iter().filter(|e| e["name"] == "thread_name").count();
        let tids: Vec<&Value> = events.iter().filter(|e| e["ph"] == "X").map(|e| &e["tid"]).collect();
        assert_eq!((threads, tids), (2, vec![&Value::from(0), &Value::from(1), &Value::from(0)]));
        assert_eq!(events[4]["ts"], 250_000.0);
        assert_eq!(events[4]["args"]["runs"], 3);
    }
}
