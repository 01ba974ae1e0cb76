// Tensors without elements are resharded too.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.slice %arg0 [8:8, 0:16] : (tensor<8x16xf32>) -> tensor<0x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {"y"}]> : tensor<0x16xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {}]> : tensor<0x16xf32>
  %3 = stablehlo.concatenate %2, %arg0, dim = 0 : (tensor<0x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}
