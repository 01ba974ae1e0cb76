//! The HTML page of `explain` and `plan`: its size for a large program, and its scripts in a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use shardc::Compiler;
use shardc::explain::{Question, Report, SourcePlace};
use shardc::page::render;
use shardc::plan::{
    BufferReport, ChangeReport, ClassReport, MemoryReport, MeshAxisReport, PlanReport, SpanReport,
    TargetReport, TimeReport, TrafficReport,
};
use shardc_tests::shared;
use shardc_tests::skip::{Need, skip};

/// The names under which Chromium is installed.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The frame of [`program`].
const PROGRAM: &str = r#"
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, LAYERS) -> tensor<64x32xf32> {
BODY
    return %LAST : tensor<64x32xf32>
  }
"#;

/// A program of `layers` equal layers.
fn program(layers: usize) -> String {
    let (mut arguments, mut body, mut last) = (Vec::new(), String::new(), "x".to_owned());
    for i in 0..layers {
        arguments.push(format!(
            "%u{i}: tensor<32x96xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{\"model\"}}]>, jax.arg_info = \
             \"params['layers'][{i}]['up']\"}}, %d{i}: tensor<96x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"model\"}}, {{}}]>, \
             jax.arg_info = \"params['layers'][{i}]['down']\"}}"
        ));
        body += &format!(
            "    %h{i} = stablehlo.dot_general %{last}, %u{i}, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x96xf32>) -> \
             tensor<64x96xf32>\n    %t{i} = stablehlo.tanh %h{i} : tensor<64x96xf32>\n    %o{i} = stablehlo.dot_general %t{i}, %d{i}, \
             contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32>\n"
        );
        last = format!("o{i}");
    }
    PROGRAM.replace("LAYERS", &arguments.join(", ")).replace("BODY", &body).replace("LAST", &last)
}

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
            expected: 1600,
            high: 1800,
            fits: true,
            classes: vec![ClassReport { class: "parameters".to_owned(), bytes: 1000 }],
            points: 10,
            timeline: vec![(0, 1000), (3, 1600), (7, 1100)],
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
            mfu: 0.4,
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
fn layers_are_folded() {
    let report = explain(program(80).as_bytes(), "step.mlir");
    let graph = report.graph.as_ref().unwrap();
    let layers = graph.nodes.iter().find(|node| node.kind == "block").unwrap();
    assert_eq!((layers.name.as_str(), layers.copies), ("params['layers'][*]", 80));
    let inner: Vec<&str> =
        graph.nodes.iter().filter(|n| n.parent.is_some()).map(|n| n.name.as_str()).collect();
    assert_eq!(
        inner,
        ["dot_general (params['layers'][*]['up'])", "dot_general (params['layers'][*]['down'])"]
    );
    // The all-reduce of each layer is on the edge to the next layer; that of the last layer is on the edge to the results.
    let edges: Vec<(usize, usize)> = report.collectives.iter().filter_map(|c| c.edge).collect();
    assert_eq!((edges.len(), edges[0], edges[79]), (80, (4, 3), (4, 1)));
    let next = graph.edges.iter().find(|edge| edge.next).unwrap();
    assert_eq!((next.from, next.to, next.values), (4, 3, 79));
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

#[test]
fn the_scripts_build_every_view() {
    let runs = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let Some(browser) = BROWSERS.iter().find(runs) else {
        return skip(Need::Browser, "there is no Chromium");
    };
    let folder = tempfile::tempdir().unwrap();
    let report = explain(program(3).as_bytes(), "step.mlir");
    let document = document(browser, folder.path(), &render(&report, Some(&plan())));
    assert!(document.contains("data-ready=\"true\""), "a script failed: {document}");
    for section in
        ["summary", "collectives", "traffic", "graph", "memory", "time", "arguments", "results", "lines"]
    {
        assert!(document.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    for text in ["shard argument 1", "params['layers'][*] ×3", "model.py:12:3", "Buffers that are live"] {
        assert!(document.contains(text), "{text}");
    }
}
