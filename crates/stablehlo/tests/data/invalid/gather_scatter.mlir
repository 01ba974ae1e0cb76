// Dimension numbers of gather and scatter.

func.func @fits(%t: tensor<100x16xf32>, %i: tensor<8x1xi32>, %u: tensor<8x16xf32>) {
  %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  %1 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<100x16xf32>
  return
}

// -----

func.func @gathers(%t: tensor<100x16xf32>, %i: tensor<8x1xi32>, %f: tensor<8x1xf32>) {
  // error: SH0207 indices of stablehlo.gather must be integers, got tensor<8x1xf32>
  %0 = "stablehlo.gather"(%t, %f) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  // error: SH0207 index_vector_dim 3 of stablehlo.gather is out of range for the indices tensor<8x1xi32>
  %1 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  // error: SH0207 slice sizes [2, 16] of stablehlo.gather must be 1 in the collapsed and batching dimensions [0]
  %2 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  // error: SH0207 slice sizes [1, 17] of stablehlo.gather do not fit tensor<100x16xf32>
  %3 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 17>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x17xf32>
  // error: SH0207 an index of stablehlo.gather has 1 components, but is mapped to 2 operand dimensions
  %4 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x1x16xf32>
  // error: SH0207 collapsed and batching dimensions [0, 0] of stablehlo.gather: dimension 0 is repeated
  %5 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  // error: SH0207 window dimensions [2, 1] of stablehlo.gather are not in ascending order
  %6 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>, indices_are_sorted = false}> : (tensor<100x16xf32>, tensor<8x1xi32>) -> tensor<8x1x16xf32>
  return
}

// -----

func.func @scatters(%t: tensor<100x16xf32>, %i: tensor<8x1xi32>, %u: tensor<8x17xf32>, %v: tensor<8x16xi32>) {
  // error: SH0207 the update tensor<8x17xf32> of scatter does not fit the input tensor<100x16xf32>: its shape must be [8, 16] or, in the window dimensions, smaller
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<100x16xf32>, tensor<8x1xi32>, tensor<8x17xf32>) -> tensor<100x16xf32>
  // error: SH0207 the update tensor<8x16xi32> of scatter does not fit the input tensor<100x16xf32>: its shape must be [8, 16] or, in the window dimensions, smaller
  %1 = "stablehlo.scatter"(%t, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<100x16xf32>, tensor<8x1xi32>, tensor<8x16xi32>) -> tensor<100x16xf32>
  // error: SH0207 collapsed dimensions [1, 0] of stablehlo.scatter are not in ascending order
  %2 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<100x16xf32>, tensor<8x1xi32>, tensor<8x17xf32>) -> tensor<100x16xf32>
  return
}
