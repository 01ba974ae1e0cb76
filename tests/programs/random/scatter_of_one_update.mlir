// A scatter of one update into a split dimension of what is itself a slice; XLA merges the two slices.
sdy.mesh @mesh = <["y"=8]>
func.func public @main(%arg2: tensor<10xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %arg4: tensor<i32>) -> (tensor<2x5xi32>, tensor<1x5xi32>, tensor<2xi32>, tensor<2x5xi32>) {
  %5 = stablehlo.reshape %arg2 : (tensor<10xi32>) -> tensor<2x5xi32>
  %7 = "stablehlo.gather"(%5, %arg4) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 0>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1>}> : (tensor<2x5xi32>, tensor<i32>) -> tensor<2xi32>
  %9 = "stablehlo.scatter"(%5, %arg4, %7) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 0>, unique_indices = false}> ({
  ^bb0(%a8: tensor<i32>, %b8: tensor<i32>):
    %c8 = stablehlo.xor %a8, %b8 : tensor<i32>
    stablehlo.return %c8 : tensor<i32>
  }) : (tensor<2x5xi32>, tensor<i32>, tensor<2xi32>) -> tensor<2x5xi32>
  %11 = stablehlo.slice %9 [1:2:2, 0:5] : (tensor<2x5xi32>) -> tensor<1x5xi32>
  return %9, %11, %7, %5 : tensor<2x5xi32>, tensor<1x5xi32>, tensor<2xi32>, tensor<2x5xi32>
}
