// The gradients of a ragged_dot with a ragged contracting dimension have ragged rows.
// RUN: shardc grad %s --wrt x,y -o - | FileCheck %s

// CHECK: %[[CT:.*]] = stablehlo.multiply %{{.*}}, %arg3
// CHECK: %[[RIGHT:.*]] = "chlo.ragged_dot"(%arg0, %[[CT]], %arg2)
// CHECK-SAME: lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>
// CHECK: stablehlo.transpose %[[RIGHT]], dims = [2, 1, 0, 3]
// CHECK: %[[LEFT:.*]] = "chlo.ragged_dot"(%arg1, %[[CT]], %arg2)
// CHECK-SAME: lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>
// CHECK: stablehlo.transpose %[[LEFT]], dims = [0, 3, 2, 1]

func.func @main(%x: tensor<2x3x8x6xf32>, %y: tensor<6x8x2x5xf32>, %sizes: tensor<4xi32>, %w: tensor<4x2x3x5xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "chlo.ragged_dot"(%x, %y, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [1, 0], lhs_ragged_dimensions = [2], rhs_group_dimensions = []>}> : (tensor<2x3x8x6xf32>, tensor<6x8x2x5xf32>, tensor<4xi32>) -> tensor<4x2x3x5xf32>
  %1 = stablehlo.multiply %0, %w : tensor<4x2x3x5xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<4x2x3x5xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
