// Quantized types of MLIR's quant dialect, which jaxlib does not have.
module @quantized {
  func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<2x4x!quant.uniform<i8<-127:127>:f32:0, {0.5, 0.25:-4}>>, %c: tensor<4x!quant.uniform<u4:f32, 1.0>>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>> {
    %0 = "stablehlo.add"(%a, %a) : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
    %1 = "stablehlo.uniform_dequantize"(%0) : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
    return %0 : tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  }
}
