// RUN: shardc opt %s --passes batch-indices,dce | FileCheck %s

// One component of each index is its own position, made non-negative first, as in `x[arange(4), i]`.
// CHECK-LABEL: func.func @picked
func.func @picked(%x: tensor<4x8xf32>, %i: tensor<4xi32>) -> tensor<4xf32> {
  %n = stablehlo.iota dim = 0 : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %lt = stablehlo.compare LT, %n, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %size = stablehlo.constant dense<4> : tensor<4xi32>
  %back = stablehlo.add %n, %size : tensor<4xi32>
  %row = stablehlo.select %lt, %back, %n : tensor<4xi1>, tensor<4xi32>
  %a = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %ab = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Beams of a batch: the batch is a count of both, divided.
// CHECK-LABEL: func.func @beams
func.func @beams(%x: tensor<4x3x8xf32>, %i: tensor<4x2xi32>) -> tensor<4x2x8xf32> {
  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  %two = stablehlo.constant dense<2> : tensor<8xi32>
  %half = stablehlo.divide %n, %two : tensor<8xi32>
  %row = stablehlo.reshape %half : (tensor<8xi32>) -> tensor<4x2x1xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (tensor<4x2xi32>) -> tensor<4x2x1xi32>
  %ab = stablehlo.concatenate %row, %b, dim = 2 : (tensor<4x2x1xi32>, tensor<4x2x1xi32>) -> tensor<4x2x2xi32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 8>}> : (tensor<4x3x8xf32>, tensor<4x2x2xi32>) -> tensor<4x2x8xf32>
  return %0 : tensor<4x2x8xf32>
}

// Two components count; what computed the indices is no concatenation of columns.
// CHECK-LABEL: func.func @two_of_three
func.func @two_of_three(%x: tensor<4x3x8xf32>, %i: tensor<3x4x1xi32>) -> tensor<3x4xf32> {
  %n = stablehlo.iota dim = 1 : tensor<3x4x1xi32>
  %m = stablehlo.iota dim = 0 : tensor<3x4x1xi32>
  %all = stablehlo.concatenate %n, %m, %i, dim = 2 : (tensor<3x4x1xi32>, tensor<3x4x1xi32>, tensor<3x4x1xi32>) -> tensor<3x4x3xi32>
  %kept = stablehlo.optimization_barrier %all : tensor<3x4x3xi32>
  %0 = "stablehlo.gather"(%x, %kept) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x3x8xf32>, tensor<3x4x3xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A diagonal: both components count one dimension, of which one becomes the batch and the other stays an index.
// CHECK-LABEL: func.func @diagonal
func.func @diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %n = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %ab = stablehlo.concatenate %n, %n, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// In a loop, into an input whose last dimension counts.
// CHECK-LABEL: func.func @written
func.func @written(%x: tensor<8x6x4xf32>, %i: tensor<4x1xi32>, %v: tensor<4x6xf32>) -> tensor<8x6x4xf32> {
  %trips = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%t = %trips, %y = %x) : tensor<i32>, tensor<8x6x4xf32>
    cond {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %t, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %n = stablehlo.iota dim = 0 : tensor<4x1xi32>
      %ab = stablehlo.concatenate %i, %n, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
      %1 = "stablehlo.scatter"(%y, %ab, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
        stablehlo.return %new : tensor<f32>
      }) : (tensor<8x6x4xf32>, tensor<4x2xi32>, tensor<4x6xf32>) -> tensor<8x6x4xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %less = stablehlo.subtract %t, %one : tensor<i32>
      stablehlo.return %less, %1 : tensor<i32>, tensor<8x6x4xf32>
    }
  return %0#1 : tensor<8x6x4xf32>
}

// More rows than are counted, and a count from one on: they stay.
// CHECK-LABEL: func.func @not_all_rows
func.func @not_all_rows(%x: tensor<5x8xf32>, %y: tensor<4x8xf32>, %i: tensor<4x1xi32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %n = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %ab = stablehlo.concatenate %n, %i, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %0 = "stablehlo.gather"(%x, %ab) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<5x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  %one = stablehlo.constant dense<1> : tensor<4x2xi32>
  %next = stablehlo.add %ab, %one : tensor<4x2xi32>
  %1 = "stablehlo.gather"(%y, %next) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
