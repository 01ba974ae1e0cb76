// A constant of quantized type is rejected: its stored integers must be given.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0111]: a constant of quantized type must be given as its stored integers
// CHECK: write `dense<...> : tensor<4xi8>` in generic form
func.func @main() {
  %0 = stablehlo.constant dense<0.0> : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>
  return
}
