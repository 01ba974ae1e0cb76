//! Scatters that replace elements, and positions of truth values that are computed.

use crate::support::only;

fn offset() -> &'static str {
    "%two = stablehlo.constant dense<2> : tensor<i32>
        %u = stablehlo.replica_id : tensor<ui32>
        %d = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>
        %o = stablehlo.multiply %d, %two : tensor<i32>"
}

#[test]
fn a_column_is_replaced_on_one_device() {
    let program = |columns: usize, index: &str, setup: &str| {
        let x = format!("tensor<3x{columns}xf32>");
        format!(
            "func.func @main(%x: {x}, %i: tensor<i32>, %v: tensor<3xf32>) -> {x} {{
        {setup}
        %k = stablehlo.reshape {index} : (tensor<i32>) -> tensor<1xi32>
        %0 = \"stablehlo.scatter\"(%x, %k, %v) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, indices_are_sorted = false, unique_indices = false}}> ({{ ^bb0(%old: tensor<f32>, %new: tensor<f32>):
          stablehlo.return %new : tensor<f32> }}) : ({x}, tensor<1xi32>, tensor<3xf32>) -> {x}
        return %0 : {x} }}"
        )
    };
    let local = program(2, "%s", &format!("{}\n%s = stablehlo.subtract %i, %o : tensor<i32>", offset()));
    let wrong = [("subtract %i, %o", "add %i, %o"), ("dense<2>", "dense<1>"), ("return %new", "return %old")];
    only(&program(8, "%i", ""), &local, &["-,ab", "", "-"], &["-,ab"], &wrong);
}

#[test]
fn truth_values_are_found_in_blocks() {
    let original = "func.func @main(%x: tensor<8x3xi1>, %i: tensor<i32>) -> tensor<1x3xi1> {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [1, 3] : (tensor<8x3xi1>, tensor<i32>, tensor<i32>) -> tensor<1x3xi1>
        return %0 : tensor<1x3xi1> }";
    let local = "func.func @main(%x: tensor<2x3xi1>, %i: tensor<i32>) -> tensor<1x3xi1> {
        %z = stablehlo.constant dense<0> : tensor<i32>
        %0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<2x3xi1>) -> tensor<8x3xi1>
        %1 = stablehlo.dynamic_slice %0, %i, %z, sizes = [1, 3] : (tensor<8x3xi1>, tensor<i32>, tensor<i32>) -> tensor<1x3xi1>
        return %1 : tensor<1x3xi1> }";
    let wrong = [("[[0, 1, 2, 3]]", "[[3, 2, 1, 0]]"), ("%0, %i, %z", "%0, %z, %i")];
    only(original, local, &["ab,-", ""], &["-,-"], &wrong);
}
