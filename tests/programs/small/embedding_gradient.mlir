// The gradient of an embedding: each device adds the rows of its own tokens, then all are summed.
sdy.mesh @mesh = <["data"=4]>
func.func @main(%zeros: tensor<4x8xf32>, %ids: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %dy: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x8xf32> {
  %0 = "stablehlo.scatter"(%zeros, %ids, %dy) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
