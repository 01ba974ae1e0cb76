// Reductions that XLA's collectives do not know.
sdy.mesh @mesh = <["x"=8]>
func.func public @main(%arg0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x16xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi1>, tensor<16xi1>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.xor across dimensions = [0] : (tensor<8x16xi32>, tensor<i32>) -> tensor<16xi32>
  %1 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.or across dimensions = [0] : (tensor<8x16xi32>, tensor<i32>) -> tensor<16xi32>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %2 = stablehlo.reduce(%arg1 init: %f) applies stablehlo.xor across dimensions = [0] : (tensor<8x16xi1>, tensor<i1>) -> tensor<16xi1>
  %3 = stablehlo.reduce(%arg1 init: %f) applies stablehlo.or across dimensions = [0] : (tensor<8x16xi1>, tensor<i1>) -> tensor<16xi1>
  return %0, %1, %2, %3 : tensor<16xi32>, tensor<16xi32>, tensor<16xi1>, tensor<16xi1>
}
