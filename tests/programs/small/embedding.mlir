// An embedding whose rows are split: each device looks up what it has, the others contribute zero. (A smaller one would be gathered.)
sdy.mesh @mesh = <["vocab"=4]>
func.func @main(%table: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"vocab"}, {}]>}, %ids: tensor<16x1xi32>) -> tensor<16x8xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
