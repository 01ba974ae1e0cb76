//! Common mistakes, and their messages.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Mutex;

use shardc_graph::{
    DType::{BF16, F32},
    Graph, GraphErrors, Mesh, spec,
};

/// Returns the rendered errors, with the lines of this file.
fn shown(errors: &GraphErrors) -> String {
    let text = errors.render(&mut |_| Some(include_str!("gallery.rs").to_owned()), false);
    // On Windows, the separator of paths is a backslash.
    text.replace('\\', "/")
}

/// Checks that docs/MODELS.md contains this text; `SHARDC_BLESS=1` updates the listing in that file that has the same first line.
fn assert_in_docs(shown: &str) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one = WRITING.lock().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MODELS.md");
    let docs = std::fs::read_to_string(&path).unwrap();
    let shown = shown.trim();
    if docs.contains(shown) {
        return;
    }
    let first = format!("```text\n{}\n", shown.lines().next().unwrap());
    let start = docs.find(&first).filter(|_| std::env::var_os("SHARDC_BLESS").is_some());
    let Some(start) = start else {
        panic!("docs/MODELS.md does not show this (SHARDC_BLESS=1 writes it):\n{shown}")
    };
    let end = start + docs[start..].find("\n```\n").unwrap();
    std::fs::write(path, format!("{}```text\n{shown}{}", &docs[..start], &docs[end..])).unwrap();
}

fn graph() -> Graph {
    Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap())
}

#[test]
fn a_wrong_shape() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let w = g.parameter("w", [8, 16], F32);
    let b = g.parameter("b", [15], F32);
    // Errors that follow from the first mistake are not reported; the second mistake is independent of it.
    let h = (x.dot(w) + b).tanh();
    let y = x - b;
    let shown = shown(&g.finish(&[("h", h), ("y", y)]).unwrap_err());
    assert_in_docs(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_wrong_axis() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", "modle"]);
    let m = x.softmax(2);
    let shown = shown(&g.finish(&[("m", m)]).unwrap_err());
    assert_in_docs(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_mix_of_element_types() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let scores = x.to(BF16).exp().named("scores");
    let y = x * scores;
    let shown = shown(&g.finish(&[("y", y)]).unwrap_err());
    assert_in_docs(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_forgotten_gradient() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let w = g.parameter("w", [4], F32);
    let unused = g.parameter("unused", [4], F32);
    let loss = (x * w).stop_gradient().sum(..) + w.sum(..);
    let [dw, du] = g.grad(loss, &[w, unused]);
    g.finish(&[("dw", dw), ("du", du)]).unwrap();
    let shown = shown(&GraphErrors(g.warnings()));
    assert_in_docs(&shown);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_gradient_of_a_vector() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let dx = g.grad((x.exp() * 2.0).sum(0), &x);
    let shown = shown(&g.finish(&[("dx", dx)]).unwrap_err());
    insta::assert_snapshot!(shown);
}

#[test]
fn a_source_line_without_text() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = x.dot(x);
    let errors = g.finish(&[("y", y)]).unwrap_err();
    insta::assert_snapshot!(errors.render(&mut |_| None, false).replace('\\', "/"));
}
