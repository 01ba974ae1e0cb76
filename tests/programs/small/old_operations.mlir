// Operations that StableHLO has newer ones for are as those are.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<5x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %c: tensor<3x6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}]>}, %d: tensor<3x5x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %q: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %i: tensor<3x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<9x6xf32>, tensor<7x3x6xf32>, tensor<6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<9xf32>, tensor<2x6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}, tensor<3x4x5xf32>, tensor<3x6x4xf32>, tensor<3x4x9xf32>) {
  %0 = stablehlo.einsum %a, %b, config = "ij, jk -> ki" : (tensor<6x5xf32>, tensor<5x9xf32>) -> tensor<9x6xf32>
  %1 = stablehlo.einsum %c, %d, config = "bij,bjk->kbi" : (tensor<3x6x5xf32>, tensor<3x5x7xf32>) -> tensor<7x3x6xf32>
  %2 = "stablehlo.unary_einsum"(%q) <{einsum_config = "ii->i"}> : (tensor<6x6xf32>) -> tensor<6xf32>
  %3 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ij->ji"}> : (tensor<6x5xf32>) -> tensor<5x6xf32>
  %4 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ij->j"}> : (tensor<6x5xf32>) -> tensor<5xf32>
  // The first has a letter that nothing else has, the second one that is summed over alone.
  %5 = stablehlo.einsum %a, %b, config = "ij,mk->k" : (tensor<6x5xf32>, tensor<5x9xf32>) -> tensor<9xf32>
  %6 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<6x5xf32>) -> tensor<2x6x5xf32>
  %7 = "stablehlo.torch_index_select"(%c, %i) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<3x6x5xf32>, tensor<3x4xi32>) -> tensor<3x4x5xf32>
  %8 = "stablehlo.torch_index_select"(%c, %i) <{batch_dims = 1 : i64, dim = 2 : i64}> : (tensor<3x6x5xf32>, tensor<3x4xi32>) -> tensor<3x6x4xf32>
  %9 = "stablehlo.torch_index_select"(%b, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x9xf32>, tensor<3x4xi32>) -> tensor<3x4x9xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<9x6xf32>, tensor<7x3x6xf32>, tensor<6xf32>, tensor<5x6xf32>, tensor<5xf32>, tensor<9xf32>, tensor<2x6x5xf32>, tensor<3x4x5xf32>, tensor<3x6x4xf32>, tensor<3x4x9xf32>
}
