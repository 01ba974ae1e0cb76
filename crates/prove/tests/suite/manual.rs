//! Manual computations in the original.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{boundary, module, only, rejects};

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

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
    let wrong = [
        ("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"),
        ("return %1", "return %0"),
        ("stablehlo.add", "stablehlo.maximum"),
    ];
    only(&original, &local, &["a,b", "b,-"], &["a,-"], &wrong);
    let other = original.replace("[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]");
    rejects(&other, &local, &["a,b", "b,-"], &["a,-"]);
}

#[test]
fn a_result_that_differs_between_devices_is_not_proven() {
    let original = original("sdy.return %1 : tensor<2x6xf32>");
    let local = "func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x6xf32>) -> tensor<2x6xf32> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
        return %0 : tensor<2x6xf32> }";
    let (original, local) = (module(&original), module(local));
    let boundary = boundary(&original, &local, [&["a,b", "b,-"], &["a,-"]]);
    let options = Options { test_work: None, ..Options::default() };
    assert_ne!(prove(&original, &local, &boundary, &options).unwrap().verdict, Verdict::Proven);
}
