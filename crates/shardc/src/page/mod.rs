//! The HTML page of a report: one file without external references, which works without a network.
//!
//! The page is a frame (`page.html`), a style sheet, the reports as packed JSON (`pack.rs`), and scripts that build the views from the
//! data. Long tables show one page of rows at a time, so that the page of a program with thousands of arguments opens quickly.
//! The scripts are plain JavaScript, one file for each view, in `assets/`.

mod pack;

use serde::Serialize;

use crate::explain::Report;
use crate::plan::PlanReport;

/// The frame of the page; `{{name}}` marks a place that `fill` replaces.
const FRAME: &str = include_str!("assets/page.html");

const STYLE: &str = include_str!("assets/page.css");

/// The scripts, in the order of their dependencies.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("assets/dom.js"),
    include_str!("assets/table.js"),
    include_str!("assets/places.js"),
    include_str!("assets/mesh.js"),
    include_str!("assets/summary.js"),
    include_str!("assets/collectives.js"),
    include_str!("assets/layers.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/memory.js"),
    include_str!("assets/trace.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/tensors.js"),
    include_str!("assets/lists.js"),
    include_str!("assets/start.js"),
    "})();\n"
);

/// The data of the page.
#[derive(Serialize)]
struct Input<'a> {
    report: &'a Report,
    plan: Option<&'a PlanReport>,
}

/// The HTML page of a report, and of the plan of the same program.
#[must_use]
pub fn render(report: &Report, plan: Option<&PlanReport>) -> String {
    // Serialization cannot fail: the structs consist of strings and numbers.
    let data = serde_json::to_value(Input { report, plan }).unwrap_or_default();
    let file = report.source.rsplit(['/', '\\']).next().unwrap_or_default();
    let title = match plan {
        Some(plan) => format!("{file}: plan for {}", plan.target.name),
        None => format!("{file}: shardings"),
    };
    let title = escaped(&title);
    let parts = [
        ("{{title}}", title.as_str()),
        ("{{style}}", STYLE),
        ("{{heading}}", &title),
        ("{{data}}", &pack::packed(&data)),
        ("{{script}}", SCRIPT),
    ];
    fill(FRAME, &parts)
}

impl Report {
    /// The report as an HTML page without external references.
    #[must_use]
    pub fn to_html(&self) -> String {
        render(self, None)
    }
}

/// Replaces each mark once, in order. Inserted text is not searched for marks.
fn fill(frame: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = frame;
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
