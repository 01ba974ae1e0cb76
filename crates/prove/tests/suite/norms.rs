//! Batch normalization, which partitioned programs expand to sums and element-wise operations.
//!
//! The test in exact arithmetic does not run the operation, so that verdicts are those of the proof alone.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{Spec, boundary, module};

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

/// Asserts that the first text is proven, and that no replacement is.
fn only(original: &str, local: &str, inputs: &[Spec], outputs: &[Spec], wrong: &[(&str, &str)]) {
    let verdict = |local: &str| {
        let (original, local) = (module(original), module(local));
        let boundary = boundary(&original, &local, [inputs, outputs]);
        let options = Options { test_work: None, ..Options::default() };
        prove(&original, &local, &boundary, &options).unwrap().verdict
    };
    assert_eq!(verdict(local), Verdict::Proven);
    for (from, to) in wrong {
        assert!(local.contains(from), "{from}");
        assert_ne!(verdict(&local.replacen(from, to, 1)), Verdict::Proven, "{from} -> {to}");
    }
}

#[test]
fn batch_normalization_is_summed_over_devices() {
    let original = "func.func @main(%x: tensor<8x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) {
        %0:3 = \"stablehlo.batch_norm_training\"(%x, %s, %o) <{epsilon = 0.5 : f32, feature_index = 1 : i64}> : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>)
        return %0#0, %0#1, %0#2 : tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) {{
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %zeros = stablehlo.constant dense<0.0> : tensor<3xf32>
        %n = stablehlo.constant dense<8.0> : tensor<3xf32>
        %e = stablehlo.constant dense<0.5> : tensor<3xf32>
        %0 = stablehlo.multiply %x, %x : tensor<2x3xf32>
        %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
        %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
        %3:2 = \"stablehlo.all_reduce\"(%1, %2) <{{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> {SUM} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
        %m = stablehlo.divide %3#0, %n : tensor<3xf32>
        %q = stablehlo.divide %3#1, %n : tensor<3xf32>
        %mm = stablehlo.multiply %m, %m : tensor<3xf32>
        %d = stablehlo.subtract %q, %mm : tensor<3xf32>
        %v = stablehlo.maximum %d, %zeros : tensor<3xf32>
        %ve = stablehlo.add %v, %e : tensor<3xf32>
        %r = stablehlo.rsqrt %ve : tensor<3xf32>
        %f = stablehlo.multiply %r, %s : tensor<3xf32>
        %bm = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %c = stablehlo.subtract %x, %bm : tensor<2x3xf32>
        %bf = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %p = stablehlo.multiply %c, %bf : tensor<2x3xf32>
        %bo = stablehlo.broadcast_in_dim %o, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %y = stablehlo.add %p, %bo : tensor<2x3xf32>
        return %y, %m, %v : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> }}"
    );
    let wrong = [
        ("[[0, 1, 2, 3]]> : tensor<1x4xi64>", "[[0, 1], [2, 3]]> : tensor<2x2xi64>"),
        ("dense<8.0>", "dense<2.0>"),
        ("dense<0.5>", "dense<0.25>"),
        ("subtract %q, %mm", "subtract %mm, %q"),
        ("multiply %r, %s", "multiply %ve, %s"),
        ("return %y, %m, %v", "return %y, %m, %ve"),
        ("return %y, %m, %v", "return %p, %m, %v"),
    ];
    only(original, &local, &["ab,-", "-", "-"], &["ab,-", "-", "-"], &wrong);
}

#[test]
fn gradients_of_batch_normalization_are_summed_over_devices() {
    let (x, f) = ("tensor<8x3xf32>", "tensor<3xf32>");
    let original = format!(
        "func.func @main(%x: {x}, %s: {f}, %m: {f}, %v: {f}, %g: {x}) -> ({x}, {f}, {f}) {{
        %0:3 = \"stablehlo.batch_norm_grad\"(%x, %s, %m, %v, %g) <{{epsilon = 0.5 : f32, feature_index = 1 : i64}}> : ({x}, {f}, {f}, {f}, {x}) -> ({x}, {f}, {f})
        return %0#0, %0#1, %0#2 : {x}, {f}, {f} }}"
    );
    let x = "tensor<2x3xf32>";
    let local = format!(
        "func.func @main(%x: {x}, %s: {f}, %m: {f}, %v: {f}, %g: {x}) -> ({x}, {f}, {f}) {{
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %n = stablehlo.constant dense<8.0> : {f}
        %e = stablehlo.constant dense<0.5> : {f}
        %ve = stablehlo.add %v, %e : {f}
        %r = stablehlo.rsqrt %ve : {f}
        %bm = stablehlo.broadcast_in_dim %m, dims = [1] : ({f}) -> {x}
        %c = stablehlo.subtract %x, %bm : {x}
        %p = stablehlo.multiply %g, %c : {x}
        %1 = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0] : ({x}, tensor<f32>) -> {f}
        %2 = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : ({x}, tensor<f32>) -> {f}
        %3:2 = \"stablehlo.all_reduce\"(%1, %2) <{{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> {SUM} : ({f}, {f}) -> ({f}, {f})
        %ds = stablehlo.multiply %3#1, %r : {f}
        %a = stablehlo.divide %3#0, %n : {f}
        %t = stablehlo.multiply %ds, %r : {f}
        %b = stablehlo.divide %t, %n : {f}
        %ba = stablehlo.broadcast_in_dim %a, dims = [1] : ({f}) -> {x}
        %bb = stablehlo.broadcast_in_dim %b, dims = [1] : ({f}) -> {x}
        %cb = stablehlo.multiply %c, %bb : {x}
        %u = stablehlo.subtract %g, %ba : {x}
        %w = stablehlo.subtract %u, %cb : {x}
        %k = stablehlo.multiply %s, %r : {f}
        %bk = stablehlo.broadcast_in_dim %k, dims = [1] : ({f}) -> {x}
        %dx = stablehlo.multiply %w, %bk : {x}
        return %dx, %ds, %3#0 : {x}, {f}, {f} }}"
    );
    let wrong = [
        ("[[0, 1, 2, 3]]> : tensor<1x4xi64>", "[[0, 1], [2, 3]]> : tensor<2x2xi64>"),
        ("dense<8.0>", "dense<2.0>"),
        ("subtract %u, %cb", "add %u, %cb"),
        ("multiply %s, %r", "multiply %s, %ve"),
        ("multiply %ds, %r", "multiply %ds, %ve"),
        ("return %dx, %ds, %3#0", "return %dx, %ds, %1"),
        ("return %dx, %ds, %3#0", "return %dx, %3#1, %3#0"),
    ];
    let blocks = ["ab,-", "-", "-", "-", "ab,-"];
    only(&original, &local, &blocks, &["ab,-", "-", "-"], &wrong);
}

#[test]
fn normalization_with_a_given_mean_is_element_wise() {
    let program = |rows: usize, features: usize| {
        let (x, f) = (format!("tensor<{rows}x{features}xf32>"), format!("tensor<{features}xf32>"));
        format!(
            "func.func @main(%x: {x}, %s: {f}, %o: {f}, %m: {f}, %v: {f}) -> {x} {{
        %0 = \"stablehlo.batch_norm_inference\"(%x, %s, %o, %m, %v) <{{epsilon = 0.5 : f32, feature_index = 1 : i64}}> : ({x}, {f}, {f}, {f}, {f}) -> {x}
        return %0 : {x} }}"
        )
    };
    let wrong = [
        ("(%x, %s, %o, %m, %v) <", "(%x, %s, %o, %v, %m) <"),
        ("(%x, %s, %o, %m, %v) <", "(%x, %o, %s, %m, %v) <"),
        ("0.5 : f32", "0.25 : f32"),
    ];
    only(&program(8, 4), &program(4, 2), &["a,b", "b", "b", "b", "b"], &["a,b"], &wrong);
}
