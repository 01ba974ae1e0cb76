// Custom calls with quantized operands are opaque.
// RUN: not shardc opt %s --passes unquantize 2>&1 | FileCheck %s

!q = !quant.uniform<i8:f32, 0.5>

// CHECK: error[SH0370]: stablehlo.custom_call @{{.*}} does not support quantized types
// CHECK: help: use `uniform_dequantize` before it
func.func @main(%x: tensor<4x!q>) -> tensor<4x!q> {
  %0 = stablehlo.custom_call @mine(%x) : (tensor<4x!q>) -> tensor<4x!q>
  return %0 : tensor<4x!q>
}
