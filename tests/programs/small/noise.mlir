// Nothing but rounding: differences that would be zero, divided by their own size. They are of any sign, in any precision.
sdy.mesh @mesh = <["x"=4]>

func.func @main(%x: tensor<64x1000xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<64x1000xf32>
  %three_rows = stablehlo.constant dense<3.0> : tensor<64xf32>
  %least = stablehlo.constant dense<1.0e-30> : tensor<64xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x1000xf32>, tensor<f32>) -> tensor<64xf32>
  %thrice = stablehlo.multiply %x, %three : tensor<64x1000xf32>
  %sum_of_thrice = stablehlo.reduce(%thrice init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x1000xf32>, tensor<f32>) -> tensor<64xf32>
  %thrice_sum = stablehlo.multiply %sum, %three_rows : tensor<64xf32>
  %none = stablehlo.subtract %sum_of_thrice, %thrice_sum : tensor<64xf32>
  %size = stablehlo.abs %none : tensor<64xf32>
  %some = stablehlo.add %size, %least : tensor<64xf32>
  %noise = stablehlo.divide %none, %some : tensor<64xf32>
  return %noise : tensor<64xf32>
}
