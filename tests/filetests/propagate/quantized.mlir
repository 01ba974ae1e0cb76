// RUN: not shardc propagate %s 2>&1 | FileCheck %s

// Quantized values have no part in propagation: a sharding on one is not silently dropped.

sdy.mesh @mesh = <["x"=2]>

// CHECK: error[SH0808]: a sharding on a value that is no tensor of plain elements
// CHECK: annotate a value before or after the quantized part
func.func @main(%a: tensor<8x!quant.uniform<i8:f32, 0.5>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.uniform_dequantize %a : (tensor<8x!quant.uniform<i8:f32, 0.5>>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
