sdy.mesh @mesh = <["data"=4, "model"=2]>
// A step of training in which devices exchange parts of rows, since they save more than 4 MiB each time: rows of a table are
// looked up, and gradients, of more rows than the table has, are added up.
func.func @main(%table: tensor<16384x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>},
    %i: tensor<16384x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>},
    %j: tensor<32768x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>},
    %y: tensor<32768x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>})
    -> (tensor<16384x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}) {
  %rows = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>, indices_are_sorted = false}> : (tensor<16384x128xf32>, tensor<16384x1xi32>) -> tensor<16384x128xf32>
  %d = stablehlo.tanh %y : tensor<32768x128xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<16384x128xf32>
  %g = "stablehlo.scatter"(%zero, %j, %d) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16384x128xf32>, tensor<32768x1xi32>, tensor<32768x128xf32>) -> tensor<16384x128xf32>
  %out = stablehlo.add %rows, %g : tensor<16384x128xf32>
  return %out : tensor<16384x128xf32>
}
