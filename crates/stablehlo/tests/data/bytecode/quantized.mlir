module @quantized {
  func.func @main(%arg0: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, %arg1: tensor<2x4x!quant.uniform<i8<-127:127>:f32:0, {5.000000e-01,2.500000e-01:-4}>>, %arg2: tensor<4x!quant.uniform<u4:f32, 1.000000e+00>>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>> {
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
    %1 = "stablehlo.uniform_dequantize"(%0) : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
    return %0 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  }
}

