// Numbers of two bits, gathered, permuted and summed.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4xi2> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<4x8xui2> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x4xi2> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<4x8xui2> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<4xui2> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<ui2>
  %0 = stablehlo.add %a, %a : tensor<8x4xi2>
  %1 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xui2>, tensor<ui2>) -> tensor<4xui2>
  return %0, %b, %1 : tensor<8x4xi2>, tensor<4x8xui2>, tensor<4xui2>
}
