// Scatters of single elements into blocks of one element: in the tensor's own order of devices and in another.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
    %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
    %b: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    %i: tensor<6x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<6x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %v: tensor<6x6x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
        tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}) {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<6x1xi32>, tensor<6x1xf32>) -> tensor<4xf32>
  %1 = "stablehlo.scatter"(%b, %i, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.subtract %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<6x1xi32>, tensor<6x6x1xf32>) -> tensor<6x2xf32>
  return %0, %1 : tensor<4xf32>, tensor<6x2xf32>
}
