module @mixed {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x16xf32>
    %1 = chlo.square %0 : tensor<8x16xf32> -> tensor<8x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32>
    %3 = stablehlo.multiply %2, %1 : tensor<8x16xf32>
    %4 = chlo.erf %3 : tensor<8x16xf32> -> tensor<8x16xf32>
    return %4 : tensor<8x16xf32>
  }
}
