// XLA's CPU client has no ragged_dot: a mask assigns rows to groups. The group dimension is contracting if the right
// operand has it, and a batch dimension if the result has it; a ragged batch dimension needs no mask.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

// ANY-COUNT-3: chlo.ragged_dot
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<11x5xf32>, %w: tensor<3x5x7xf32>, %sizes: tensor<3xi32>, %y: tensor<11x7xf32>, %b: tensor<11x5x2xf32>) -> (tensor<11x7xf32>, tensor<3x5x7xf32>, tensor<11x2xf32>) {
  // CHECK: %[[FIRST:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
  // CHECK: %[[END:.*]] = stablehlo.add %[[FIRST]], %arg2
  // CHECK: %[[MASK:.*]] = stablehlo.xor {{.*}} : tensor<3x11xi1>
  // CHECK: %[[ROWS:.*]] = stablehlo.select {{.*}} : tensor<3x11x5xi1>, tensor<3x11x5xf32>
  // CHECK: stablehlo.dot_general %[[ROWS]], %arg1, contracting_dims = [0, 2] x [0, 1]
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<11x7xf32>
  // CHECK: %[[LEFT:.*]] = stablehlo.select {{.*}} : tensor<3x11x5xi1>, tensor<3x11x5xf32>
  // CHECK: %[[RIGHT:.*]] = stablehlo.broadcast_in_dim %arg3, dims = [1, 2]
  // CHECK: stablehlo.dot_general %[[LEFT]], %[[RIGHT]], batching_dims = [0] x [0], contracting_dims = [1] x [1]
  %1 = "chlo.ragged_dot"(%x, %y, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<11x7xf32>, tensor<3xi32>) -> tensor<3x5x7xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
  // CHECK: stablehlo.dot_general %[[SUM]], %arg4, batching_dims = [0] x [0], contracting_dims = [1] x [1]
  %2 = "chlo.ragged_dot"(%x, %b, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<11x5x2xf32>, tensor<3xi32>) -> tensor<11x2xf32>
  return %0, %1, %2 : tensor<11x7xf32>, tensor<3x5x7xf32>, tensor<11x2xf32>
}
