// RUN: shardc opt %s --passes decompose | FileCheck %s
// An einsum becomes a dot_general with a transpose, after sums over dimensions of only one operand.
// CHECK-LABEL: func.func @product
// CHECK: %[[DOT:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [2], contracting_dims = [2] x [0] : {{.*}} -> tensor<2x3x5xf32>
// CHECK: stablehlo.transpose %[[DOT]], dims = [2, 0, 1] : (tensor<2x3x5xf32>) -> tensor<5x2x3xf32>
func.func @product(%a: tensor<2x3x4xf32>, %b: tensor<4x5x2xf32>) -> tensor<5x2x3xf32> {
  %0 = stablehlo.einsum %a, %b, config = "bij,jkb->kbi" : (tensor<2x3x4xf32>, tensor<4x5x2xf32>) -> tensor<5x2x3xf32>
  return %0 : tensor<5x2x3xf32>
}

// Without a transpose.
// CHECK-LABEL: func.func @any_rank
// CHECK: %[[DOT:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
// CHECK-NEXT: return %[[DOT]]
func.func @any_rank(%a: tensor<2x3x4x5xf32>, %b: tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32> {
  %0 = stablehlo.einsum %a, %b, config = "...ij,...jk->...ik" : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %0 : tensor<2x3x4x6xf32>
}

// A dimension of only one operand is summed first.
// CHECK-LABEL: func.func @alone
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.dot_general %[[SUM]], %arg1, contracting_dims = [0] x [0]
func.func @alone(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.einsum %a, %b, config = "ij,jk->k" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @diagonal
// CHECK: %[[EQUAL:.*]] = stablehlo.compare EQ
// CHECK: %[[ON:.*]] = stablehlo.select %[[EQUAL]], %arg0
// CHECK: %[[DIAGONAL:.*]] = stablehlo.reduce(%[[ON]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK: stablehlo.transpose %[[DIAGONAL]], dims = [1, 0]
func.func @diagonal(%a: tensor<3x4x3xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "iji->ji"}> : (tensor<3x4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// Not decomposed: an index that no operand has, and different sizes of one index.
// CHECK-LABEL: func.func @stays
// CHECK: stablehlo.einsum
// CHECK: stablehlo.einsum
func.func @stays(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> (tensor<2x5xf32>, tensor<2x4xf32>) {
  %0 = stablehlo.einsum %a, %b, config = "ij,jk->iz" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x5xf32>
  %1 = stablehlo.einsum %a, %b, config = "ij,kj->ik" : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x5xf32>, tensor<2x4xf32>
}
