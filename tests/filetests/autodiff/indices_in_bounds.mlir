// Indices that are known to be in bounds are not clamped or masked; other indices are, on as few numbers as possible.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// A scatter drops updates out of bounds, so no mask is needed.
// CHECK: "stablehlo.sort"
// CHECK-NOT: stablehlo.reduce
// CHECK: "stablehlo.scatter"(%{{.*}}, %arg3, %{{.*}})
// In a pair of indices, only the unknown one is adjusted, before it is broadcast.
// CHECK: stablehlo.clamp %{{.*}}, %arg2, %{{.*}} : tensor<4xi32>
// CHECK: "stablehlo.scatter"
// The permutation of a sort, wrapped as if it could be negative, and masked as if it could be out of bounds.
// CHECK-NOT: stablehlo.clamp
// CHECK-NOT: stablehlo.select
// CHECK: "stablehlo.scatter"
// CHECK: return
func.func @main(%x: tensor<4x6xf32>, %keys: tensor<4x6xf32>, %i: tensor<4xi32>, %i1: tensor<4x1xi32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %places = stablehlo.iota dim = 1 : tensor<4x6xi32>
  %sorted:2 = "stablehlo.sort"(%keys, %places) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %lt = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  %c0 = stablehlo.constant dense<0> : tensor<4x6xi32>
  %c6 = stablehlo.constant dense<6> : tensor<4x6xi32>
  %is_negative = stablehlo.compare LT, %sorted#1, %c0, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  %wrapped = stablehlo.add %sorted#1, %c6 : tensor<4x6xi32>
  %chosen = stablehlo.select %is_negative, %wrapped, %sorted#1 : tensor<4x6xi1>, tensor<4x6xi32>
  %order = stablehlo.reshape %chosen : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
  %low = stablehlo.constant dense<0> : tensor<4x6x1xi32>
  %high = stablehlo.constant dense<5> : tensor<4x6x1xi32>
  %ge = stablehlo.compare GE, %order, %low, SIGNED : (tensor<4x6x1xi32>, tensor<4x6x1xi32>) -> tensor<4x6x1xi1>
  %le = stablehlo.compare LE, %order, %high, SIGNED : (tensor<4x6x1xi32>, tensor<4x6x1xi32>) -> tensor<4x6x1xi1>
  %both = stablehlo.and %ge, %le : tensor<4x6x1xi1>
  %within = stablehlo.reduce(%both init: %true) applies stablehlo.and across dimensions = [2] : (tensor<4x6x1xi1>, tensor<i1>) -> tensor<4x6xi1>
  %taken = "stablehlo.gather"(%x, %order) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x6xf32>, tensor<4x6x1xi32>) -> tensor<4x6xf32>
  %nans = stablehlo.broadcast_in_dim %nan, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
  %first = stablehlo.select %within, %taken, %nans : tensor<4x6xi1>, tensor<4x6xf32>

  %rows = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %column = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %pairs = stablehlo.concatenate %rows, %column, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %second = "stablehlo.gather"(%x, %pairs) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x6xf32>, tensor<4x2xi32>) -> tensor<4xf32>

  %low1 = stablehlo.constant dense<0> : tensor<4x1xi32>
  %last1 = stablehlo.constant dense<3> : tensor<1xi32>
  %high1 = stablehlo.broadcast_in_dim %last1, dims = [1] : (tensor<1xi32>) -> tensor<4x1xi32>
  %ge1 = stablehlo.compare GE, %i1, %low1, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
  %le1 = stablehlo.compare LE, %i1, %high1, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
  %both1 = stablehlo.and %ge1, %le1 : tensor<4x1xi1>
  %within1 = stablehlo.reduce(%both1 init: %true) applies stablehlo.and across dimensions = [1] : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
  %mask = stablehlo.broadcast_in_dim %within1, dims = [0] : (tensor<4xi1>) -> tensor<4x6xi1>
  %lines = "stablehlo.gather"(%x, %i1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<4x1xi32>) -> tensor<4x6xf32>
  %third = stablehlo.select %mask, %lines, %nans : tensor<4x6xi1>, tensor<4x6xf32>

  %p = stablehlo.multiply %first, %keys : tensor<4x6xf32>
  %q = stablehlo.multiply %third, %keys : tensor<4x6xf32>
  %r = stablehlo.add %p, %q : tensor<4x6xf32>
  %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.reduce(%second init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %total = stablehlo.add %s, %t : tensor<f32>
  return %total : tensor<f32>
}
