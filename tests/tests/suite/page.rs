//! The HTML page of `explain` and `plan`: its size for a large program, and its scripts in a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use shardc::Compiler;
use shardc::explain::{Question, Report, SourcePlace};
use shardc::page::render;
use shardc::plan::{
    BufferReport, ChangeReport, ClassOverTime, ClassReport, MemoryReport, MeshAxisReport, PlanReport,
    SpanReport, TargetReport, TimeReport, TrafficReport,
};
use shardc_tests::skip::{Need, skip};
use shardc_tests::{root, shared};

/// The names under which Chromium is installed.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

fn explain(source: &[u8], name: &str) -> Report {
    Compiler::new().explain(source, name, &Question::Summary).unwrap()
}

/// A plan with every part that the page shows.
fn plan() -> PlanReport {
    let place =
        SourcePlace { line: Some(5), user: Some("model.py:12:3".to_owned()), ..SourcePlace::default() };
    let buffer = |name: &str, class: &str, bytes: u64, first: usize, last: usize| BufferReport {
        name: name.to_owned(),
        ty: "tensor<16x32xf32>".to_owned(),
        class: class.to_owned(),
        bytes,
        count: 1,
        first,
        last,
        place: place.clone(),
    };
    let span = |name: &str, lane: &str, start: f64, seconds: f64| SpanReport {
        name: name.to_owned(),
        lane: lane.to_owned(),
        start,
        seconds,
        busy: seconds,
        operations: 1,
        runs: 1,
        place: place.clone(),
        ..SpanReport::default()
    };
    PlanReport {
        version: 1,
        source: "step.mlir".to_owned(),
        target: TargetReport { name: "v5p:2x2x2".to_owned(), devices: 8, memory: 1 << 36, peak_flops: 4e14 },
        mesh: vec![
            MeshAxisReport { name: "data".to_owned(), size: 4, link: "ICI".to_owned(), bandwidth: 9e10 },
            MeshAxisReport { name: "model".to_owned(), size: 2, link: "ICI".to_owned(), bandwidth: 9e10 },
        ],
        memory: MemoryReport {
            limit: 2000,
            low: 1400,
            expected: 1700,
            high: 1800,
            fits: true,
            classes: vec![ClassReport { class: "parameters".to_owned(), bytes: 1000 }],
            points: 10,
            timeline: vec![(0, 1000), (3, 1600), (7, 1100)],
            classes_over_time: vec![
                ClassOverTime { class: "parameters".to_owned(), timeline: vec![(0, 1000)] },
                ClassOverTime { class: "activations".to_owned(), timeline: vec![(3, 600), (7, 100)] },
            ],
            buffers: vec![
                buffer("params", "parameters", 1000, 0, 9),
                buffer("%h0", "activations", 600, 3, 6),
            ],
            ..MemoryReport::default()
        },
        communication: vec![TrafficReport {
            kind: "all_reduce".to_owned(),
            axes: vec!["model".to_owned()],
            link: "ICI".to_owned(),
            count: 1,
            runs: 1,
            bytes: 4096,
            seconds: 1e-5,
            exposed: 1e-6,
        }],
        time: TimeReport {
            seconds: 1e-3,
            hfu: 0.4,
            spans: vec![
                span("dot_general", "compute", 0.0, 5e-4),
                span("all_reduce", "communication ICI", 5e-4, 5e-4),
            ],
            ..TimeReport::default()
        },
        changes: vec![ChangeReport {
            what: "shard argument 1".to_owned(),
            how: "--spec \"arg1=data,-\"".to_owned(),
            ..ChangeReport::default()
        }],
        ..PlanReport::default()
    }
}

#[test]
fn a_large_program_has_a_small_page() {
    let path = shared().map(|folder| folder.join("corpus/jax/llama70b_80l_fsdp_tp_train.mlir"));
    let Some(source) = path.and_then(|path| std::fs::read(path).ok()) else {
        return skip(Need::Shared, "the 80-layer program is in the shared data");
    };
    let page = explain(&source, "llama70b.mlir").to_html();
    assert!(page.len() < 5 << 20, "the page has {} bytes", page.len());
}

/// The document of a page after its scripts ran.
fn document(browser: &str, folder: &Path, page: &str) -> String {
    let file = folder.join("page.html");
    std::fs::write(&file, page).unwrap();
    let run = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// The name of an installed browser; reports a skip if there is none.
fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = BROWSERS.iter().find(runs).copied();
    if found.is_none() {
        skip(Need::Browser, "there is no Chromium");
    }
    found
}

#[test]
fn the_scripts_build_every_view() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read(root().join("filetests/explain/layers.mlir")).unwrap();
    let report = explain(&source, "layers.mlir");
    let document = document(browser, folder.path(), &render(&report, Some(&plan())));
    assert!(document.contains("data-ready=\"true\""), "a script failed: {document}");
    for section in
        ["summary", "collectives", "traffic", "graph", "memory", "time", "arguments", "results", "lines"]
    {
        assert!(document.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    for text in [
        "shard argument 1",
        "params['layers'][*] ×3",
        "model.py:12:3",
        "Buffers that are live",
        "peak with fragmentation and copies",
    ] {
        assert!(document.contains(text), "{text}");
    }
}

#[test]
fn the_page_and_the_library_write_the_same_trace() {
    let Some(browser) = browser() else { return };
    let script = include_str!("../../../crates/shardc/src/page/assets/trace.js");
    let plan = plan();
    let page = format!(
        "<!doctype html><body><script>{script}\ndocument.body.textContent = JSON.stringify(traceOf({}))</script></body>",
        plan.to_json()
    );
    let folder = tempfile::tempdir().unwrap();
    let document = document(browser, folder.path(), &page);
    let text = document.split_once("<body>").and_then(|(_, rest)| rest.split_once("</body>")).unwrap().0;
    let written: serde_json::Value = serde_json::from_str(text).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&plan.to_trace_json()).unwrap();
    let same =
        |a: &serde_json::Value, b: &serde_json::Value| a["args"] == b["args"] && a["name"] == b["name"];
    let (written, expected) = (&written["traceEvents"], &expected["traceEvents"]);
    let pairs = written.as_array().unwrap().iter().zip(expected.as_array().unwrap());
    for (written, expected) in pairs {
        assert!(same(written, expected), "{written} {expected}");
        assert_eq!(written["dur"].as_f64(), expected["dur"].as_f64());
        assert_eq!(written["ts"].as_f64(), expected["ts"].as_f64());
    }
    assert_eq!(written.as_array().map(Vec::len), expected.as_array().map(Vec::len));
}
