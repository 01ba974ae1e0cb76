//! Two layers with one name are an error, unless they share their weights explicitly.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use shardc_graph::{DType::F32, Graph, Mesh, Tensor};
use shardc_nn::{Scope, layers::Dense};

fn errors(make: impl for<'g> Fn(&Scope<'g>, Tensor<'g>) -> Tensor<'g>) -> String {
    let graph = Graph::new("step", &Mesh::new(&[]).unwrap());
    let (scope, x) = (Scope::new(&graph), graph.parameter("x", [4, 8], F32));
    let y = make(&scope, x);
    match graph.finish(&[("y", y)]) {
        Ok(_) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn two_layers_of_one_name_are_an_error_with_both_lines() {
    let line = line!() + 2;
    let text = errors(|p, x| {
        let once = Dense::new(8).apply(&p.at("map"), x);
        Dense::new(8).apply(&p.at("map"), once)
    });
    assert!(text.contains("two layers use the parameter \"map.kernel\""), "{text}");
    assert!(text.contains(&format!("sharing.rs:{line}:")), "{text}");
    assert!(text.contains(&format!("sharing.rs:{}:", line + 1)), "{text}");
}

#[test]
fn layers_share_weights_if_the_scope_permits() {
    let text = errors(|p, x| {
        let once = Dense::new(8).apply(&p.at("map"), x);
        Dense::new(8).apply(&p.at("map").shared(), once)
    });
    assert_eq!(text, "");
}

#[test]
fn a_function_that_is_applied_twice_uses_its_own_weights() {
    fn tower<'g>(p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
        Dense::new(8).apply(&p.at("map"), x)
    }
    let graph = Graph::new("step", &Mesh::new(&[]).unwrap());
    let (scope, x) = (Scope::new(&graph), graph.parameter("x", [4, 8], F32));
    let (a, b) = (tower(&scope, x), tower(&scope, x));
    assert!(graph.finish(&[("a", a), ("b", b)]).is_ok());
}
