// Devices sum up in one of two branches; the number that chooses comes out of a barrier together with what they do not share.
sdy.mesh @mesh = <["x"=4]>
func.func @main(
    %which: tensor<i32>,
    %a: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %0:2 = stablehlo.optimization_barrier %which, %a : tensor<i32>, tensor<24xf32>
  %1 = "stablehlo.case"(%0#0) ({
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%0#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<24xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }, {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.reduce(%0#1 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<24xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %1 : tensor<f32>
}
