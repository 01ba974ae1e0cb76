//! Uneven blocks: a dimension of ten elements in four blocks of three, of which the last has two elements of padding.

use shardc_prove::Verdict;

use crate::support::{check, only, proves, rejects};

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

/// Whether a position of a block is less than ten.
const MASK: &str = "%i = stablehlo.iota dim = 0 : tensor<3xi32>
        %d = stablehlo.replica_id : tensor<ui32>
        %n = stablehlo.convert %d : (tensor<ui32>) -> tensor<i32>
        %s = stablehlo.constant dense<3> : tensor<i32>
        %o = stablehlo.multiply %n, %s : tensor<i32>
        %ob = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<3xi32>
        %p = stablehlo.add %i, %ob : tensor<3xi32>
        %most = stablehlo.constant dense<10> : tensor<3xi32>
        %m = stablehlo.compare LT, %p, %most, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>";

fn all_reduce(operand: &str, ty: &str, region: &str) -> String {
    format!(
        "\"stablehlo.all_reduce\"({operand}) <{{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> {region} : ({ty}) -> {ty}"
    )
}

#[test]
fn an_elementwise_operation_keeps_padding() {
    let text = |size: u64| {
        format!(
            "func.func @main(%x: tensor<{size}x6xf32>, %y: tensor<{size}x6xf32>) -> tensor<{size}x6xf32> {{
            %0 = stablehlo.exponential %x : tensor<{size}x6xf32>
            %1 = stablehlo.multiply %0, %y : tensor<{size}x6xf32>
            return %1 : tensor<{size}x6xf32> }}"
        )
    };
    let wrong = [("multiply %0, %y", "multiply %0, %x"), ("multiply %0, %y", "add %0, %y")];
    only(&text(10), &text(3), &["ab,-", "ab,-"], &["ab,-"], &wrong);
}

#[test]
fn padding_is_masked_before_a_contraction() {
    let original = "func.func @main(%x: tensor<10xf32>, %w: tensor<10x6xf32>) -> tensor<6xf32> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<10xf32>, tensor<10x6xf32>) -> tensor<6xf32>
        return %0 : tensor<6xf32> }";
    let reduce = all_reduce("%1", "tensor<6xf32>", SUM);
    let local = format!(
        "func.func @main(%x: tensor<3xf32>, %w: tensor<3x6xf32>) -> tensor<6xf32> {{
        {MASK}
        %z = stablehlo.constant dense<0.0> : tensor<3xf32>
        %zw = stablehlo.constant dense<0.0> : tensor<3x6xf32>
        %mw = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xi1>) -> tensor<3x6xi1>
        %0 = stablehlo.select %m, %x, %z : tensor<3xi1>, tensor<3xf32>
        %w0 = stablehlo.select %mw, %w, %zw : tensor<3x6xi1>, tensor<3x6xf32>
        %1 = stablehlo.dot_general %0, %w0, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x6xf32>) -> tensor<6xf32>
        %2 = {reduce}
        return %2 : tensor<6xf32> }}"
    );
    let wrong = [
        ("dot_general %0, %w0", "dot_general %x, %w"),
        ("dense<10> : tensor<3xi32>", "dense<11> : tensor<3xi32>"),
        ("dense<10> : tensor<3xi32>", "dense<9> : tensor<3xi32>"),
        ("%s = stablehlo.constant dense<3>", "%s = stablehlo.constant dense<2>"),
        ("compare LT", "compare LE"),
        ("return %2", "return %1"),
        ("select %m, %x, %z", "select %m, %z, %x"),
    ];
    only(original, &local, &["ab", "ab,-"], &["-"], &wrong);
    // In exact arithmetic a padded factor may be anything if the other one is zero.
    let one = local.replace("dot_general %0, %w0", "dot_general %0, %w");
    proves(original, &one, &["ab", "ab,-"], &["-"]);
}

#[test]
fn padding_is_masked_before_a_maximum() {
    let original = "func.func @main(%x: tensor<10x6xf32>) -> tensor<6xf32> {
        %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
        return %0 : tensor<6xf32> }";
    let reduce = all_reduce("%1", "tensor<6xf32>", &SUM.replace("add", "maximum"));
    let local = format!(
        "func.func @main(%x: tensor<3x6xf32>) -> tensor<6xf32> {{
        {MASK}
        %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %f = stablehlo.constant dense<0xFF800000> : tensor<3x6xf32>
        %mx = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xi1>) -> tensor<3x6xi1>
        %0 = stablehlo.select %mx, %x, %f : tensor<3x6xi1>, tensor<3x6xf32>
        %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<3x6xf32>, tensor<f32>) -> tensor<6xf32>
        %2 = {reduce}
        return %2 : tensor<6xf32> }}"
    );
    proves(original, &local, &["ab,-"], &["-"]);
    // The greatest element may be another one in the test.
    for (from, to) in [
        ("reduce(%0 init", "reduce(%x init"),
        ("dense<10> : tensor<3xi32>", "dense<9> : tensor<3xi32>"),
        ("dense<10> : tensor<3xi32>", "dense<11> : tensor<3xi32>"),
        ("%f = stablehlo.constant dense<0xFF800000>", "%f = stablehlo.constant dense<1000.0>"),
    ] {
        assert!(local.contains(from));
        let report = check(original, &local.replace(from, to), &["ab,-"], &["-"]);
        assert_ne!(report.verdict, Verdict::Proven, "{to}");
    }
}

#[test]
fn padding_is_sliced_after_a_gather() {
    let original =
        "func.func @main(%x: tensor<10x6xf32>) -> tensor<10x6xf32> { return %x : tensor<10x6xf32> }";
    let local = "func.func @main(%x: tensor<3x6xf32>) -> tensor<10x6xf32> {
        %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<3x6xf32>) -> tensor<12x6xf32>
        %1 = stablehlo.slice %0 [0:10, 0:6] : (tensor<12x6xf32>) -> tensor<10x6xf32>
        return %1 : tensor<10x6xf32> }";
    only(
        original,
        local,
        &["ab,-"],
        &["-,-"],
        &[("[0:10, 0:6]", "[1:11, 0:6]"), ("[0:10, 0:6]", "[2:12, 0:6]")],
    );
}

#[test]
fn another_dimension_is_sharded_through_zeros() {
    let original = "func.func @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
        %0 = stablehlo.exponential %x : tensor<6x4xf32>
        return %0 : tensor<6x4xf32> }";
    let local = "func.func @main(%x: tensor<6x1xf32>) -> tensor<2x4xf32> {
        %c = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.pad %x, %c, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<6x1xf32>, tensor<f32>) -> tensor<8x1xf32>
        %1 = \"stablehlo.all_to_all\"(%0) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x1xf32>) -> tensor<2x4xf32>
        %2 = stablehlo.exponential %1 : tensor<2x4xf32>
        return %2 : tensor<2x4xf32> }";
    let wrong = [
        ("low = [0, 0], high = [2, 0]", "low = [1, 0], high = [1, 0]"),
        ("low = [0, 0], high = [2, 0]", "low = [2, 0], high = [0, 0]"),
        ("return %2", "return %1"),
    ];
    only(original, local, &["-,ab"], &["ab,-"], &wrong);
}

#[test]
fn a_mask_of_a_longer_tensor_is_a_slice() {
    let original = "func.func @main(%x: tensor<12x6xf32>) -> tensor<6xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.slice %x [0:10, 0:6] : (tensor<12x6xf32>) -> tensor<10x6xf32>
        %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
        return %1 : tensor<6xf32> }";
    let reduce = all_reduce("%1", "tensor<6xf32>", SUM);
    let local = format!(
        "func.func @main(%x: tensor<3x6xf32>) -> tensor<6xf32> {{
        {MASK}
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %f = stablehlo.constant dense<0.0> : tensor<3x6xf32>
        %mx = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xi1>) -> tensor<3x6xi1>
        %0 = stablehlo.select %mx, %x, %f : tensor<3x6xi1>, tensor<3x6xf32>
        %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x6xf32>, tensor<f32>) -> tensor<6xf32>
        %2 = {reduce}
        return %2 : tensor<6xf32> }}"
    );
    let wrong = [
        ("reduce(%0 init", "reduce(%x init"),
        ("dense<10> : tensor<3xi32>", "dense<9> : tensor<3xi32>"),
        ("dense<10> : tensor<3xi32>", "dense<11> : tensor<3xi32>"),
    ];
    only(original, &local, &["ab,-"], &["-"], &wrong);
}

#[test]
fn a_sum_over_padding_is_not_proven() {
    let original = "func.func @main(%x: tensor<10x6xf32>) -> tensor<6xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
        return %1 : tensor<6xf32> }";
    let reduce = all_reduce("%1", "tensor<6xf32>", SUM);
    let local = format!(
        "func.func @main(%x: tensor<3x6xf32>) -> tensor<6xf32> {{
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x6xf32>, tensor<f32>) -> tensor<6xf32>
        %2 = {reduce}
        return %2 : tensor<6xf32> }}"
    );
    rejects(original, &local, &["ab,-"], &["-"]);
}
