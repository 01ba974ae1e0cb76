//! Manual computations in the original.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{Spec, boundary, module};

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

/// The verdict of the proof alone: the test does not run manual computations of the original.
fn verdict(original: &str, local: &str, inputs: &[Spec], outputs: &[Spec]) -> Verdict {
    let (original, local) = (module(original), module(local));
    let boundary = boundary(&original, &local, [inputs, outputs]);
    let options = Options { test_work: None, ..Options::default() };
    prove(&original, &local, &boundary, &options).unwrap().verdict
}

fn original(body: &str) -> String {
    format!(
        "module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}} {{
        sdy.mesh @mesh = <[\"a\"=2, \"b\"=2]>
        func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {{
        %0 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{{\"a\"}}, {{\"b\"}}]>, <@mesh, [{{\"b\"}}, {{}}]>] out_shardings=[<@mesh, [{{\"a\"}}, {{}}]>] manual_axes={{\"a\", \"b\"}} (%p: tensor<2x4xf32>, %q: tensor<4x6xf32>) {{
          %1 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
          {body}
        }} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
        return %0 : tensor<4x6xf32> }} }}"
    )
}

#[test]
fn a_manual_sum_is_a_sum() {
    let original = original(&format!(
        "%2 = \"stablehlo.all_reduce\"(%1) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}}> {SUM} : (tensor<2x6xf32>) -> tensor<2x6xf32>
          sdy.return %2 : tensor<2x6xf32>"
    ));
    let local = format!(
        "func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>) -> tensor<2x6xf32> {{
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
        %1 = \"stablehlo.all_reduce\"(%0) <{{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<2x6xf32>) -> tensor<2x6xf32>
        return %1 : tensor<2x6xf32> }}"
    );
    let (inputs, outputs): (&[Spec], &[Spec]) = (&["a,b", "b,-"], &["a,-"]);
    assert_eq!(verdict(&original, &local, inputs, outputs), Verdict::Proven);
    for (from, to) in [
        ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"),
        ("return %1", "return %0"),
        ("stablehlo.add", "stablehlo.maximum"),
    ] {
        assert!(local.contains(from));
        assert_ne!(verdict(&original, &local.replacen(from, to, 1), inputs, outputs), Verdict::Proven);
    }
}

#[test]
fn a_result_that_differs_between_devices_is_not_proven() {
    let original = original("sdy.return %1 : tensor<2x6xf32>");
    let local = "func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>) -> tensor<2x6xf32> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
        return %0 : tensor<2x6xf32> }";
    assert_ne!(verdict(&original, local, &["a,b", "b,-"], &["a,-"]), Verdict::Proven);
}
