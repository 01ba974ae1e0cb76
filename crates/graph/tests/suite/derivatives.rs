//! Vector-Jacobian products, and custom derivatives.

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
fn a_vjp_has_the_structure_of_its_inputs() {
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
        (vec![4], F32, "the cotangent of output 0 is f32[4], but the output is f32[8, 4]"),
        (vec![8, 4], BF16, "the cotangent of output 0 is bf16[8, 4], but the output is f32[8, 4]"),
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
    assert!(errors.contains("expected 2 cotangents, one per output, got 1"), "{errors}");
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
    // `backward` returns the scalar cotangent of the sum, but the cotangent of the input must have the shape of the input.
    let scalar = text(&|g, x| g.custom_vjp(x, |x| (x.sum(..), ()), |(), ct| ct));
    assert!(
        scalar.contains("the backward function of custom_vjp: tensor 0 must be tensor<8x4xf32>"),
        "{scalar}"
    );
    let other = text(&|g, x| g.custom_jvp(x, |x| x.exp(), |x, dx| (x.exp(), dx.sum(0))));
    assert!(
        other.contains("the tangents in the derivative of custom_jvp: tensor 0 must be tensor<8x4xf32>"),
        "{other}"
    );
    let around = text(&|g, x| {
        let scale = g.parameter("scale", [4], F32);
        g.custom_vjp(x, |x| (x * scale, ()), |(), ct| ct)
    });
    assert!(around.contains("the closure captures a tensor"), "{around}");
}

/// Returns the errors and warnings of a graph that returns the result of `make` for `x` and `w`.
fn diagnostics(make: &dyn for<'g> Fn(&'g Graph, Tensor<'g>, Tensor<'g>) -> Tensor<'g>) -> (String, usize) {
    let g = graph();
    let y = make(&g, g.parameter("x", [4], F32), g.parameter("w", [4], F32));
    let warnings = g.warnings().len();
    match g.finish(&[("y", y)]) {
        Ok(module) => {
            verify(&module).unwrap();
            (String::new(), warnings)
        }
        Err(errors) => (errors.to_string(), warnings),
    }
}

#[test]
fn the_loss_of_a_closure_does_not_pass_through_captured_tensors() {
    let within = |through: &dyn for<'g> Fn(Tensor<'g>) -> Tensor<'g>| {
        diagnostics(&|g, x, w| {
            let h = through(w);
            g.cond(x.sum(..).gt(0), || g.grad((h * w).sum(..), &w), || w)
        })
    };
    let (errors, _) = within(&|w| w * 3);
    assert!(errors.contains("the loss uses a captured tensor"), "{errors}");
    assert_eq!(within(&|w| (w * 3).stop_gradient()), (String::new(), 0));
    assert_eq!(within(&|w| w), (String::new(), 0));
    // The loss is defined outside of the closure.
    let (errors, _) = diagnostics(&|g, x, w| {
        let loss = (w * x).sum(..);
        g.cond(x.sum(..).gt(0), || g.grad(loss, &w), || w)
    });
    assert!(errors.contains("the loss uses a captured tensor"), "{errors}");
    // A captured tensor that does not depend on `w` may be defined outside of the closure.
    assert_eq!(
        diagnostics(&|g, x, w| {
            let h = x.exp();
            g.cond(x.sum(..).gt(0), || g.grad((h * w).sum(..), &w), || w)
        }),
        (String::new(), 0)
    );
}

#[test]
fn a_gradient_includes_uses_before_a_mark() {
    let (errors, warnings) = diagnostics(&|g, x, w| {
        let h = x * w;
        let loss = h.square().sum(..);
        let h = h.mark_sharding(shardc_graph::spec!["data"]);
        g.grad(loss, &h)
    });
    assert_eq!((errors.as_str(), warnings), ("", 0), "no gradient of zeros");
}

#[test]
fn unused_gradients_are_not_differentiated() {
    let operations = |count: i64| {
        let g = graph();
        let w = g.parameter("w", [4], F32);
        let made: Vec<(String, Tensor<'_>)> =
            (0..count).map(|i| (format!("g{i}"), g.grad((w * (i + 1)).sin().sum(..), &w))).collect();
        let outputs: Vec<(&str, Tensor<'_>)> = made.iter().map(|(name, t)| (name.as_str(), *t)).collect();
        g.finish(&outputs).unwrap().ops.len()
    };
    assert!(operations(16) < 3 * operations(8), "{} after {}", operations(16), operations(8));
}
