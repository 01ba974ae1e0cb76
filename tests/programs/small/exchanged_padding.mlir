// A dimension of one element is split four ways: three pieces of the exchange are padding.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<2x6x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>},
    %w: tensor<2x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<2x1x4x2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [2] : (tensor<2x6x16xf32>, tensor<2x4x16xf32>) -> tensor<2x6x2x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x6x2x4xf32>) -> tensor<2x6x1x2x4xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 4, 3, 1] : (tensor<2x6x1x2x4xf32>) -> tensor<2x1x4x2x6xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}, {}, {"x"}, {}, {}]> : tensor<2x1x4x2x6xf32>
  %4 = stablehlo.negate %3 : tensor<2x1x4x2x6xf32>
  return %4 : tensor<2x1x4x2x6xf32>
}
