// A composite is partitioned as what it decomposes into; one may be made of others.
sdy.mesh @mesh = <["x"=4]>
func.func private @row_sums(%a: tensor<8x6xf32>) -> tensor<8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @centered(%a: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = stablehlo.composite "my.row_sums" %a {decomposition = @row_sums} : (tensor<8x6xf32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>
  %2 = stablehlo.subtract %a, %1 : tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = stablehlo.composite "my.centered" %a {decomposition = @centered, version = 1 : i32} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.composite "my.centered" %b {decomposition = @centered, version = 1 : i32} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}
