//! Values that are selected by the number of a device, or by a position.

use crate::support::only;

const SUM: &str =
    "({ ^bb0(%left: tensor<f32>, %right: tensor<f32>): %both = stablehlo.add %left, %right : tensor<f32>
    stablehlo.return %both : tensor<f32> })";

const DEVICE: &str = "%d = stablehlo.replica_id : tensor<ui32>
        %zero = stablehlo.constant dense<0.0> : tensor<4x6xf32>
        %c0 = stablehlo.constant dense<0> : tensor<ui32>
        %c2 = stablehlo.constant dense<2> : tensor<ui32>
        %major = stablehlo.divide %d, %c2 : tensor<ui32>
        %minor = stablehlo.remainder %d, %c2 : tensor<ui32>";

#[test]
fn a_sum_of_masked_blocks_is_one_block() {
    let original = "func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x5xf32>) -> tensor<4x5xf32> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
        %1 = stablehlo.slice %0 [4:8, 0:5] : (tensor<8x5xf32>) -> tensor<4x5xf32>
        %2 = stablehlo.tanh %1 : tensor<4x5xf32>
        return %2 : tensor<4x5xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> tensor<4x5xf32> {{
        {DEVICE}
        %none = stablehlo.constant dense<-0.0> : tensor<4x5xf32>
        %c1 = stablehlo.constant dense<1> : tensor<ui32>
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
        %t = stablehlo.compare EQ, %major, %c1, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %1 = stablehlo.select %t, %0, %none : tensor<i1>, tensor<4x5xf32>
        %2 = \"stablehlo.all_reduce\"(%1) <{{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}}> {SUM} : (tensor<4x5xf32>) -> tensor<4x5xf32>
        %3 = stablehlo.tanh %2 : tensor<4x5xf32>
        return %3 : tensor<4x5xf32> }}"
    );
    let wrong = [
        ("compare EQ, %major, %c1", "compare EQ, %major, %c0"),
        ("compare EQ, %major, %c1", "compare EQ, %minor, %c1"),
        ("compare EQ", "compare NE"),
        ("dense<-0.0>", "dense<1.0>"),
        ("[[0, 2], [1, 3]]", "[[0, 1], [2, 3]]"),
    ];
    only(original, &local, &["a,-", "-,-"], &["-,-"], &wrong);
}

#[test]
fn a_selection_by_a_device_is_a_concatenation() {
    let original = "func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<2x4x6xf32> {
        %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
        %1 = stablehlo.reshape %y : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
        %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<2x4x6xf32>
        return %2 : tensor<2x4x6xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<1x4x6xf32> {{
        {DEVICE}
        %t = stablehlo.compare GE, %d, %c2, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %0 = stablehlo.select %t, %y, %x : tensor<i1>, tensor<4x6xf32>
        %1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
        return %1 : tensor<1x4x6xf32> }}"
    );
    let wrong = [
        ("select %t, %y, %x", "select %t, %x, %y"),
        ("compare GE", "compare GT"),
        ("compare GE, %d, %c2", "compare GE, %minor, %c2"),
        ("compare GE, %d, %c2", "compare GE, %d, %minor"),
    ];
    only(original, &local, &["-,-", "-,-"], &["a,-,-"], &wrong);
}

#[test]
fn a_part_that_cannot_change_a_comparison_is_dropped() {
    // Rows from 4 on are of the devices of the second half.
    let original = "func.func @main(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> tensor<8x6xf32> {
        %0 = stablehlo.slice %x [0:4, 0:6] : (tensor<8x6xf32>) -> tensor<4x6xf32>
        %1 = stablehlo.slice %y [4:8, 0:6] : (tensor<8x6xf32>) -> tensor<4x6xf32>
        %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
        return %2 : tensor<8x6xf32> }";
    let local = format!(
        "func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {{
        {DEVICE}
        %i = stablehlo.iota dim = 0 : tensor<4xui32>
        %c4 = stablehlo.constant dense<4> : tensor<ui32>
        %o = stablehlo.multiply %major, %c4 : tensor<ui32>
        %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<ui32>) -> tensor<4xui32>
        %s = stablehlo.compare LT, %i, %b, UNSIGNED : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
        %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xi1>) -> tensor<4x6xi1>
        %0 = stablehlo.select %t, %y, %x : tensor<4x6xi1>, tensor<4x6xf32>
        return %0 : tensor<4x6xf32> }}"
    );
    let wrong = [
        ("select %t, %y, %x", "select %t, %x, %y"),
        ("dense<4> : tensor<ui32>", "dense<3> : tensor<ui32>"),
        ("multiply %major, %c4", "multiply %minor, %c4"),
        ("compare LT", "compare GE"),
    ];
    only(original, &local, &["a,-", "a,-"], &["a,-"], &wrong);
}

#[test]
fn slices_are_added_before_or_after_they_are_taken() {
    let original = "func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x5xf32> {
        %0 = stablehlo.add %x, %y : tensor<4x8xf32>
        %1 = stablehlo.tanh %0 : tensor<4x8xf32>
        %2 = stablehlo.slice %1 [0:4, 2:7] : (tensor<4x8xf32>) -> tensor<4x5xf32>
        return %2 : tensor<4x5xf32> }";
    let local = "func.func @main(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>) -> tensor<1x5xf32> {
        %0 = stablehlo.slice %x [0:1, 2:7] : (tensor<1x8xf32>) -> tensor<1x5xf32>
        %1 = stablehlo.slice %y [0:1, 2:7] : (tensor<1x8xf32>) -> tensor<1x5xf32>
        %2 = stablehlo.add %0, %1 : tensor<1x5xf32>
        %3 = stablehlo.tanh %2 : tensor<1x5xf32>
        return %3 : tensor<1x5xf32> }";
    let wrong =
        [("%x [0:1, 2:7]", "%x [0:1, 1:6]"), ("add %0, %1", "subtract %0, %1"), ("add %0, %1", "add %0, %0")];
    only(original, local, &["ab,-", "ab,-"], &["ab,-"], &wrong);
}
