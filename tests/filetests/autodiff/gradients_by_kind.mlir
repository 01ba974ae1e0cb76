// The gradient of a broadcast is one sum, that of a gather one scatter-add, and that of a matmul with one-hot rows a matmul.
// RUN: shardc grad %s --wrt b,table,weights -o - | FileCheck %s

// CHECK: %[[ASKED:.*]] = stablehlo.multiply %{{.*}}, %arg4
// CHECK-NEXT: %[[PRODUCT:.*]] = stablehlo.dot_general %[[ASKED]], %{{.*}}, contracting_dims = [0] x [0]
// CHECK-NEXT: %[[WEIGHTS:.*]] = stablehlo.transpose %[[PRODUCT]]
// CHECK: %[[TABLE:.*]] = "stablehlo.scatter"(%{{.*}}, %{{.*}}, %[[ASKED]])
// CHECK: %[[ROW:.*]] = stablehlo.reduce(%[[ASKED]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK-NEXT: %[[B:.*]] = stablehlo.reshape %[[ROW]]
// CHECK-NEXT: return %[[B]], %[[TABLE]], %[[WEIGHTS]]
func.func @main(%b: tensor<1x8xf32>, %table: tensor<10x8xf32>, %weights: tensor<10x8xf32>, %i: tensor<4x1xi32>, %x: tensor<4x8xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %spread = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %rows = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<10x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  %numbers = stablehlo.iota dim = 1 : tensor<4x10xi32>
  %which = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (tensor<4x1xi32>) -> tensor<4x10xi32>
  %is = stablehlo.compare EQ, %which, %numbers : (tensor<4x10xi32>, tensor<4x10xi32>) -> tensor<4x10xi1>
  %hot = stablehlo.convert %is : (tensor<4x10xi1>) -> tensor<4x10xf32>
  %picked = stablehlo.dot_general %hot, %weights, contracting_dims = [1] x [0] : (tensor<4x10xf32>, tensor<10x8xf32>) -> tensor<4x8xf32>
  %s = stablehlo.add %spread, %rows : tensor<4x8xf32>
  %t = stablehlo.add %s, %picked : tensor<4x8xf32>
  %p = stablehlo.multiply %t, %x : tensor<4x8xf32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
