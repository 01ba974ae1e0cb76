// The columns of the right-hand side are split, unevenly over the second axis: each is solved alone.
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<4x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}]>},
                %b: tensor<4x6x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}]>}) -> (tensor<4x6x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}]>}) {
  %0 = stablehlo.iota dim = 0 : tensor<6x6xi32>
  %1 = stablehlo.iota dim = 1 : tensor<6x6xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
  %3 = stablehlo.convert %2 : (tensor<6x6xi1>) -> tensor<6x6xf32>
  %c = stablehlo.constant dense<9.0> : tensor<6x6xf32>
  %4 = stablehlo.multiply %3, %c : tensor<6x6xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<6x6xf32>) -> tensor<4x6x6xf32>
  %6 = stablehlo.sine %x : tensor<4x6x6xf32>
  %7 = stablehlo.add %5, %6 : tensor<4x6x6xf32>
  %8 = "stablehlo.triangular_solve"(%7, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x6x6xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  return %8 : tensor<4x6x10xf32>
}
