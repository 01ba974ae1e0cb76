// Updates of one element of a split dimension that they keep as a dimension of size one, some of them out of bounds.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %cache: tensor<6x10x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>},
    %new: tensor<6x1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {}]>},
    %at: tensor<6xi32>) -> tensor<6x10x4xf32> {
  %c4 = stablehlo.constant dense<4> : tensor<6xi32>
  %0 = stablehlo.multiply %at, %c4 : tensor<6xi32>
  %1 = stablehlo.reshape %0 : (tensor<6xi32>) -> tensor<6x1xi32>
  %2 = "stablehlo.scatter"(%cache, %1, %new) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    stablehlo.return %r : tensor<f32>
  }) : (tensor<6x10x4xf32>, tensor<6x1xi32>, tensor<6x1x4xf32>) -> tensor<6x10x4xf32>
  return %2 : tensor<6x10x4xf32>
}
