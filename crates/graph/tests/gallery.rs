//! Mistakes that people make, as they see them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, F32},
    Graph, GraphErrors, Mesh, spec,
};

/// What is shown, with the lines of this file.
fn shown(errors: &GraphErrors) -> String {
    let text = errors.render(&mut |_| Some(include_str!("gallery.rs").to_owned()), false);
    // Windows names files in its own way.
    text.replace('\\', "/")
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
    // What follows from the first mistake is not reported; the second one is independent of it.
    let h = (x.dot(w) + b).tanh();
    let y = x - b;
    insta::assert_snapshot!(shown(&g.finish(&[("h", h), ("y", y)]).unwrap_err()));
}

#[test]
fn a_wrong_axis() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", "modle"]);
    let m = x.softmax(2);
    insta::assert_snapshot!(shown(&g.finish(&[("m", m)]).unwrap_err()));
}

#[test]
fn a_mix_of_element_types() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let scores = x.to(BF16).exp().named("scores");
    let y = x * scores;
    insta::assert_snapshot!(shown(&g.finish(&[("y", y)]).unwrap_err()));
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
    insta::assert_snapshot!(shown(&GraphErrors(g.warnings())));
}

#[test]
fn a_gradient_of_a_vector() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let dx = g.grad((x.exp() * 2.0).sum(0), &x);
    insta::assert_snapshot!(shown(&g.finish(&[("dx", dx)]).unwrap_err()));
}

#[test]
fn a_place_without_its_text() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = x.dot(x);
    let errors = g.finish(&[("y", y)]).unwrap_err();
    insta::assert_snapshot!(errors.render(&mut |_| None, false).replace('\\', "/"));
}
