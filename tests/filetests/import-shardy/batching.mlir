// RUN: shardc opt %s --passes sdy-explicit-gather-scatter-batching | FileCheck %s

// One component of the indices counts the rows: it is removed with its computation.
// CHECK-LABEL: func @wrapped
func.func @wrapped(%arg0: tensor<4x8xf32>, %arg1: tensor<4x1xi32>) -> tensor<4xf32> {
  // CHECK-NEXT: "stablehlo.gather"(%arg0, %arg1)
  // CHECK-SAME: operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1
  // CHECK-SAME: (tensor<4x8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %count = stablehlo.iota dim = 0 : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %four = stablehlo.constant dense<4> : tensor<4xi32>
  %negative = stablehlo.compare LT, %count, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %plus = stablehlo.add %count, %four : tensor<4xi32>
  %wrapped = stablehlo.select %negative, %plus, %count : tensor<4xi1>, tensor<4xi32>
  %column = stablehlo.broadcast_in_dim %wrapped, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %indices = stablehlo.concatenate %arg1, %column, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%arg0, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Without a part for each component, the others are cut out.
// CHECK-LABEL: func @cut
func.func @cut(%arg0: tensor<2x8x8xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[COUNT:.*]] = stablehlo.iota dim = 0 : tensor<2x3xi32>
  // CHECK-NEXT: %[[LEFT:.*]] = stablehlo.slice %[[COUNT]] [0:2, 0:1]
  // CHECK-NEXT: %[[RIGHT:.*]] = stablehlo.slice %[[COUNT]] [0:2, 2:3]
  // CHECK-NEXT: %[[REST:.*]] = stablehlo.concatenate %[[LEFT]], %[[RIGHT]], dim = 1
  // CHECK-NEXT: "stablehlo.gather"(%arg0, %[[REST]])
  // CHECK-SAME: start_index_map = [1, 2]
  %indices = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %0 = "stablehlo.gather"(%arg0, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [1, 0, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x8x8xf32>, tensor<2x3xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// These do not count the rows: a reshape of a longer count, a clamp that cuts, a count along another dimension.
// CHECK-LABEL: func @others
func.func @others(%arg0: tensor<4x8xf32>, %arg1: tensor<4x1xi32>) -> (tensor<4x2xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  // CHECK-NOT: batching_dims
  %long = stablehlo.iota dim = 0 : tensor<8xi32>
  %pairs = stablehlo.reshape %long : (tensor<8xi32>) -> tensor<4x2x1xi32>
  %other = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<4x1xi32>) -> tensor<4x2x1xi32>
  %first = stablehlo.concatenate %pairs, %other, dim = 2 : (tensor<4x2x1xi32>, tensor<4x2x1xi32>) -> tensor<4x2x2xi32>
  %0 = "stablehlo.gather"(%arg0, %first) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2x2xi32>) -> tensor<4x2xf32>
  %count = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %clamped = stablehlo.clamp %zero, %count, %two : (tensor<i32>, tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi32>
  %second = stablehlo.concatenate %clamped, %arg1, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %1 = "stablehlo.gather"(%arg0, %second) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  %across = stablehlo.iota dim = 1 : tensor<4x4x1xi32>
  %wide = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<4x1xi32>) -> tensor<4x4x1xi32>
  %third = stablehlo.concatenate %across, %wide, dim = 2 : (tensor<4x4x1xi32>, tensor<4x4x1xi32>) -> tensor<4x4x2xi32>
  %2 = "stablehlo.gather"(%arg0, %third) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x4x2xi32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x2xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func @scattered
func.func @scattered(%arg0: tensor<4x8xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: "stablehlo.scatter"(%arg0, %arg1, %arg2)
  // CHECK-SAME: inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1
  %count = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %indices = stablehlo.concatenate %count, %arg1, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.scatter"(%arg0, %indices, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    stablehlo.return %arg4 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
