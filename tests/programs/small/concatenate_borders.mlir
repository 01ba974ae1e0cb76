// Tensors joined along a split dimension, one of them shorter than there are devices; and a roll.
sdy.mesh @mesh = <["x"=8]>
func.func @main(
    %a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %c: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<45xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
        tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<16xf32>, tensor<5xf32>, tensor<24xf32>) -> tensor<45xf32>
  %1 = stablehlo.slice %a [13:16] : (tensor<16xf32>) -> tensor<3xf32>
  %2 = stablehlo.slice %a [0:13] : (tensor<16xf32>) -> tensor<13xf32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<3xf32>, tensor<13xf32>) -> tensor<16xf32>
  return %0, %3 : tensor<45xf32>, tensor<16xf32>
}
