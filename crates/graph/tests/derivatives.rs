//! Vector-Jacobian products, and derivatives that are given.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, F32},
    Graph, Mesh, Tensor,
};
use shardc_ir::verify;

fn graph() -> Graph {
    Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap())
}

#[test]
fn a_product_with_the_jacobian_has_the_structure_of_what_it_is_by() {
    let g = graph();
    let (x, w) = (g.parameter("x", [8, 4], F32), g.parameter("w", [4, 2], F32));
    let (y, h) = (x.dot(w), x.to(BF16));
    let cotangents = (g.parameter("cy", [8, 2], F32), g.parameter("ch", [8, 4], BF16));
    let (dx, dw) = g.vjp(&(y, h), &(x, w), &cotangents);
    assert_eq!((dx.shape(), dw.shape()), (x.shape(), w.shape()));
    verify(&g.finish(&[("dx", dx), ("dw", dw)]).unwrap()).unwrap();
}

#[test]
fn cotangents_that_do_not_fit_are_reported_once() {
    for (shape, dtype, text) in [
        (vec![4], F32, "the cotangent of output 0 is f32[4], the output f32[8, 4]"),
        (vec![8, 4], BF16, "the cotangent of output 0 is bf16[8, 4], the output f32[8, 4]"),
    ] {
        let g = graph();
        let x = g.parameter("x", [8, 4], F32);
        let dx = g.vjp(&-x, &x, &g.parameter("c", shape, dtype));
        let errors = g.finish(&[("dx", dx)]).unwrap_err().to_string();
        assert!(errors.contains(text), "{errors}");
        assert_eq!(errors.matches("error[").count(), 1, "{errors}");
    }
    let g = graph();
    let x = g.parameter("x", [8], F32);
    let dx = g.vjp(&vec![-x, x.abs()], &x, &vec![x]);
    let errors = g.finish(&[("dx", dx)]).unwrap_err().to_string();
    assert!(errors.contains("2 outputs have 1 cotangents"), "{errors}");
}

#[test]
fn given_derivatives_that_do_not_fit_are_reported_once() {
    let text = |make: &dyn for<'g> Fn(&'g Graph, Tensor<'g>) -> Tensor<'g>| {
        let g = graph();
        let y = make(&g, g.parameter("x", [8, 4], F32));
        let errors = g.finish(&[("y", y.exp())]).unwrap_err().to_string();
        assert_eq!(errors.matches("error[").count(), 1, "{errors}");
        errors
    };
    // The cotangent of a sum is a scalar; that of its input is not.
    let scalar = text(&|g, x| g.custom_vjp(x, |x| (x.sum(..), ()), |(), ct| ct));
    assert!(
        scalar.contains("the backward function of custom_vjp: tensor 0 is tensor<8x4xf32> before"),
        "{scalar}"
    );
    let other = text(&|g, x| g.custom_jvp(x, |x| x.exp(), |x, dx| (x.exp(), dx.sum(0))));
    assert!(other.contains("the derivative of custom_jvp: tensor 1 is tensor<8x4xf32> before"), "{other}");
    let around = text(&|g, x| {
        let scale = g.parameter("scale", [4], F32);
        g.custom_vjp(x, |x| (x * scale, ()), |(), ct| ct)
    });
    assert!(around.contains("the region reads a tensor from around it"), "{around}");
}
