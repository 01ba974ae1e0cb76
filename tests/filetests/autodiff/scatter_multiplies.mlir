// The gradient of a multiplying scatter multiplies the cotangent in place, and expands no tensor of factors.
// RUN: shardc grad %s --wrt x,u -o - | FileCheck %s

// CHECK: "stablehlo.gather"(%arg0, %arg1)
// CHECK: stablehlo.cosine
// CHECK: %[[CT:.*]] = stablehlo.multiply
// CHECK: "stablehlo.scatter"(%[[CT]], %arg1, %arg2)
// CHECK: stablehlo.multiply
// CHECK: return
func.func @main(%x: tensor<7x3xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<7x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %s = stablehlo.sine %y : tensor<7x3xf32>
  %sum = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<7x3xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
