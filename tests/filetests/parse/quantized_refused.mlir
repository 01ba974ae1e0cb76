// The constants of quantized numbers are the integers that are stored, and say so.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0111]: the constants of quantized numbers are the integers that are stored
// CHECK: give them as `dense<...> : tensor<4xi8>` in generic form
func.func @main() {
  %0 = stablehlo.constant dense<0.0> : tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>
  return
}
