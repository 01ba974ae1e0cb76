// The second result would be zero but for rounding, so that it says nothing in any precision, relative to itself.
sdy.mesh @mesh = <["x"=3]>
func.func @main(%x: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64xf32>, tensor<10xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
  %each = stablehlo.broadcast_in_dim %sum, dims = [1] : (tensor<10xf32>) -> tensor<64x10xf32>
  %n = stablehlo.constant dense<64.0> : tensor<64x10xf32>
  %mean = stablehlo.divide %each, %n : tensor<64x10xf32>
  %rest = stablehlo.subtract %x, %mean : tensor<64x10xf32>
  %rows = stablehlo.reduce(%rest init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
  %columns = stablehlo.reduce(%rest init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
  return %rows, %columns : tensor<64xf32>, tensor<10xf32>
}
