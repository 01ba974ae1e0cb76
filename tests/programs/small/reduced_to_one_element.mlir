// Reductions of which each device has one element, with initial values that count.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<3x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %c: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<6xf32>, tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, tensor<f32>) {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %half) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %1 = stablehlo.reduce(%b init: %seven) applies stablehlo.add across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = stablehlo.reduce(%c init: %half) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<6xf32>, tensor<4xi32>, tensor<f32>
}
