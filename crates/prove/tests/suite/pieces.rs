//! Slices and concatenations, of which parts are in different blocks.

use crate::support::only;

#[test]
fn a_slice_of_a_padded_tensor_has_parts_of_both() {
    let original = "func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
        %c = stablehlo.constant dense<2.0> : tensor<f32>
        %0 = stablehlo.pad %x, %c, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x7xf32>
        %1 = stablehlo.slice %0 [0:8, 1:7] : (tensor<8x7xf32>) -> tensor<8x6xf32>
        return %1 : tensor<8x6xf32> }";
    let local = "func.func @main(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
        %c = stablehlo.constant dense<2.0> : tensor<f32>
        %0 = stablehlo.pad %x, %c, low = [0, -1], high = [0, 1], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
        return %0 : tensor<2x6xf32> }";
    let wrong = [
        ("low = [0, -1], high = [0, 1]", "low = [0, 1], high = [0, -1]"),
        ("low = [0, -1], high = [0, 1]", "low = [0, -2], high = [0, 2]"),
        ("dense<2.0>", "dense<3.0>"),
    ];
    only(original, local, &["ab,-"], &["ab,-"], &wrong);
}

#[test]
fn adjacent_slices_are_one_slice() {
    let original = "func.func @main(%x: tensor<8x12xf32>) -> tensor<8x7xf32> {
        %0 = stablehlo.slice %x [0:8, 2:9] : (tensor<8x12xf32>) -> tensor<8x7xf32>
        return %0 : tensor<8x7xf32> }";
    let local = "func.func @main(%x: tensor<2x12xf32>) -> tensor<2x7xf32> {
        %0 = stablehlo.slice %x [0:2, 1:8] : (tensor<2x12xf32>) -> tensor<2x7xf32>
        %1 = stablehlo.slice %0 [0:2, 1:4] : (tensor<2x7xf32>) -> tensor<2x3xf32>
        %2 = stablehlo.slice %x [0:2, 5:9] : (tensor<2x12xf32>) -> tensor<2x4xf32>
        %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
        return %3 : tensor<2x7xf32> }";
    let wrong = [
        ("[0:2, 1:4]", "[0:2, 2:5]"),
        ("[0:2, 5:9]", "[0:2, 4:8]"),
        (
            "concatenate %1, %2, dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>)",
            "concatenate %2, %1, dim = 1 : (tensor<2x4xf32>, tensor<2x3xf32>)",
        ),
    ];
    only(original, local, &["ab,-"], &["ab,-"], &wrong);
}

#[test]
fn blocks_may_have_a_part_of_an_argument() {
    // A block has 12 of 16 columns of an argument.
    let original = "func.func @main(%q: tensor<4x16xf32>, %k: tensor<4x16xf32>, %v: tensor<4x16xf32>, %w: tensor<48xf32>) -> tensor<4x48xf32> {
        %0 = stablehlo.concatenate %q, %k, %v, dim = 1 : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x48xf32>
        %1 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<48xf32>) -> tensor<4x48xf32>
        %2 = stablehlo.multiply %0, %1 : tensor<4x48xf32>
        return %2 : tensor<4x48xf32> }";
    let local = "func.func @main(%q: tensor<4x16xf32>, %k: tensor<4x16xf32>, %v: tensor<4x16xf32>, %w: tensor<12xf32>) -> tensor<4x12xf32> {
        %d = stablehlo.replica_id : tensor<ui32>
        %n = stablehlo.constant dense<12> : tensor<ui32>
        %z = stablehlo.constant dense<0> : tensor<ui32>
        %o = stablehlo.multiply %d, %n : tensor<ui32>
        %0 = stablehlo.concatenate %q, %k, %v, dim = 1 : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x48xf32>
        %1 = stablehlo.dynamic_slice %0, %z, %o, sizes = [4, 12] : (tensor<4x48xf32>, tensor<ui32>, tensor<ui32>) -> tensor<4x12xf32>
        %2 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<12xf32>) -> tensor<4x12xf32>
        %3 = stablehlo.multiply %1, %2 : tensor<4x12xf32>
        return %3 : tensor<4x12xf32> }";
    let wrong = [
        ("dense<12>", "dense<11>"),
        ("concatenate %q, %k, %v", "concatenate %k, %q, %v"),
        ("multiply %1, %2", "add %1, %2"),
        ("multiply %d, %n", "multiply %n, %n"),
    ];
    only(original, local, &["-,-", "-,-", "-,-", "ab"], &["-,ab"], &wrong);
}

#[test]
fn tensors_are_gathered_together() {
    // Flattened blocks of two tensors are one message, which is cut inside a row.
    let original =
        "func.func @main(%x: tensor<16x3xf32>, %y: tensor<16xf32>) -> (tensor<16x3xf32>, tensor<16xf32>) {
        return %x, %y : tensor<16x3xf32>, tensor<16xf32> }";
    let local = "func.func @main(%x: tensor<4x3xf32>, %y: tensor<4xf32>) -> (tensor<16x3xf32>, tensor<16xf32>) {
        %0 = stablehlo.reshape %x : (tensor<4x3xf32>) -> tensor<1x12xf32>
        %1 = stablehlo.reshape %y : (tensor<4xf32>) -> tensor<1x4xf32>
        %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<1x12xf32>, tensor<1x4xf32>) -> tensor<1x16xf32>
        %3 = \"stablehlo.all_gather\"(%2) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1x16xf32>) -> tensor<4x16xf32>
        %4 = stablehlo.slice %3 [0:4, 0:12] : (tensor<4x16xf32>) -> tensor<4x12xf32>
        %5 = stablehlo.slice %3 [0:4, 12:16] : (tensor<4x16xf32>) -> tensor<4x4xf32>
        %6 = stablehlo.reshape %4 : (tensor<4x12xf32>) -> tensor<16x3xf32>
        %7 = stablehlo.reshape %5 : (tensor<4x4xf32>) -> tensor<16xf32>
        return %6, %7 : tensor<16x3xf32>, tensor<16xf32> }";
    let wrong = [
        ("[[0, 1, 2, 3]]", "[[0, 2, 1, 3]]"),
        ("[0:4, 0:12]", "[0:4, 4:16]"),
        ("[0:4, 12:16]", "[0:4, 11:15]"),
    ];
    only(original, local, &["ab,-", "ab"], &["-,-", "-"], &wrong);
}

#[test]
fn strided_slices_of_slices_are_strided() {
    let original = "func.func @main(%x: tensor<4x20xf32>) -> tensor<4x3xf32> {
        %0 = stablehlo.slice %x [0:4, 3:16:6] : (tensor<4x20xf32>) -> tensor<4x3xf32>
        return %0 : tensor<4x3xf32> }";
    let local = "func.func @main(%x: tensor<1x20xf32>) -> tensor<1x3xf32> {
        %0 = stablehlo.slice %x [0:1, 1:18:2] : (tensor<1x20xf32>) -> tensor<1x9xf32>
        %1 = stablehlo.slice %0 [0:1, 1:8:3] : (tensor<1x9xf32>) -> tensor<1x3xf32>
        return %1 : tensor<1x3xf32> }";
    let wrong = [("1:8:3", "1:6:2"), ("1:8:3", "0:7:3"), ("1:18:2", "0:17:2")];
    only(original, local, &["ab,-"], &["ab,-"], &wrong);
}
