// A scatter whose index vectors are empty: every update goes to the same place, and there is no index to send what lies in
// the padding of a split batch of them elsewhere.
sdy.mesh @mesh = <["x"=8]>
func.func public @main(%i: tensor<4x0xi32>, %x: tensor<13xf64>, %u: tensor<4x13xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<13xf64> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<13xf64>, tensor<4x0xi32>, tensor<4x13xf64>) -> tensor<13xf64>
  return %0 : tensor<13xf64>
}
