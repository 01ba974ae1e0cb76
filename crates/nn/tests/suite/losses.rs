//! Losses accept tensors of matching shapes and types, and report errors for others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{F32, I32, I64, UI8},
    Graph, Mesh, Tensor,
};
use shardc_ir::{Module, OpKind};
use shardc_nn::Scope;
use shardc_nn::layers::Embed;
use shardc_nn::loss::{CrossEntropy, accuracy, huber, sigmoid_cross_entropy, squared_error};

/// Returns a program that returns the sum of a tensor, or its errors.
fn made(build: impl for<'g> FnOnce(&'g Graph) -> Tensor<'g>) -> Result<Module, Vec<String>> {
    let g = Graph::new("loss", &Mesh::new(&[]).unwrap());
    let sum = build(&g).sum(..);
    g.finish(&[("sum", sum)]).map_err(|errors| errors.0.iter().map(|e| e.kind.to_string()).collect())
}

fn errors_of(build: impl for<'g> FnOnce(&'g Graph) -> Tensor<'g>) -> Vec<String> {
    made(build).err().unwrap_or_default()
}

#[test]
fn labels_are_integers_with_the_shape_of_the_rows() {
    let ignoring = CrossEntropy::new().ignore(-1);
    let losses: [for<'g> fn(CrossEntropy, Tensor<'g>, Tensor<'g>) -> Tensor<'g>; 3] = [
        |loss, logits, labels| loss.of_each(logits, labels),
        |loss, logits, labels| loss.mean(logits, labels),
        |_, logits, labels| accuracy(logits, labels),
    ];
    for (loss, of) in losses.iter().flat_map(|loss| [(loss, CrossEntropy::new()), (loss, ignoring)]) {
        let with = |shape: &[i64], dtype| {
            errors_of(|g| loss(of, g.parameter("x", [4, 300], F32), g.parameter("y", shape, dtype)))
        };
        assert!(with(&[4], I32).is_empty() && with(&[4], I64).is_empty() && with(&[4], UI8).is_empty());
        let rows = "the shape of labels must be that of logits without the last dimension";
        assert_eq!(with(&[4, 1], I32), [format!("{rows}, got labels [4, 1] and logits [4, 300]")]);
        assert_eq!(with(&[], I32), [format!("{rows}, got labels [] and logits [4, 300]")]);
        assert_eq!(with(&[4], F32), ["labels must be integers, got f32"]);
    }
    let errors = errors_of(|g| CrossEntropy::new().mean(g.zeros([4, 3], UI8), g.zeros([4], I32)));
    assert_eq!(errors, ["logits must be floats, got ui8"]);
}

/// Returns whether a counter can overflow its integer type.
fn wraps(module: &Module) -> bool {
    module.ops.values().filter(|op| matches!(op.kind, OpKind::Iota { .. })).any(|op| {
        let ty = module.tensor(op.results[0]).unwrap();
        ty.dtype.is_integer() && ty.shape.iter().any(|&n| n > 1 << ty.dtype.bits())
    })
}

#[test]
fn small_integer_labels_do_not_overflow() {
    let loss =
        made(|g| CrossEntropy::new().of_each(g.parameter("x", [4, 300], F32), g.parameter("y", [4], UI8)));
    assert!(!wraps(&loss.unwrap()));
    for one_hot in [false, true] {
        let vectors =
            made(|g| Embed::new(300, 8).one_hot(one_hot).apply(&Scope::new(g), g.parameter("ids", [4], UI8)));
        assert!(!wraps(&vectors.unwrap()));
    }
}

#[test]
fn predictions_and_labels_must_match() {
    let losses: [for<'g> fn(Tensor<'g>, Tensor<'g>) -> Tensor<'g>; 3] =
        [squared_error, |x, y| huber(x, y, 1.0), sigmoid_cross_entropy];
    for loss in losses {
        let with =
            |shape: &[i64]| errors_of(|g| loss(g.parameter("x", [4, 1], F32), g.parameter("y", shape, F32)));
        assert!(with(&[4, 1]).is_empty() && with(&[]).is_empty());
        let [error] = &with(&[4])[..] else { panic!("one error") };
        assert!(error.ends_with("must have equal shapes, got [4, 1] and [4]"), "{error}");
    }
}
