// If rows are scattered to one position, the last one counts. One number per row, not per element, determines which
// row that is. No mask is needed where a clamped row index is in bounds.
// RUN: shardc grad %s --wrt x,rows,row -o - | FileCheck %s

// CHECK: stablehlo.iota dim = 0 : tensor<3xi32>
// CHECK: "stablehlo.scatter"
// CHECK: (tensor<5xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<5xi32>
// CHECK: "stablehlo.gather"
// CHECK-SAME: (tensor<5xi32>, tensor<3x1xi32>) -> tensor<3xi32>
// CHECK: "stablehlo.gather"
// CHECK-SAME: (tensor<5x4xf32>, tensor<1x2xi32>) -> tensor<1x1x4xf32>
// CHECK-NEXT: "stablehlo.gather"
func.func @main(%x: tensor<5x4xf32>, %i: tensor<3x1xi32>, %rows: tensor<3x4xf32>, %j: tensor<1x2xi32>, %row: tensor<1x1x4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0> : tensor<1x2xi32>
  %last = stablehlo.constant dense<[4, 0]> : tensor<2xi32>
  %high = stablehlo.broadcast_in_dim %last, dims = [1] : (tensor<2xi32>) -> tensor<1x2xi32>
  %moved = stablehlo.clamp %low, %j, %high : tensor<1x2xi32>
  %written = "stablehlo.scatter"(%x, %i, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %again = "stablehlo.scatter"(%written, %moved, %row) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<5x4xf32>, tensor<1x2xi32>, tensor<1x1x4xf32>) -> tensor<5x4xf32>
  %square = stablehlo.multiply %again, %again : tensor<5x4xf32>
  %total = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x4xf32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}
