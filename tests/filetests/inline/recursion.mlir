// A function that calls itself cannot be inlined.
// RUN: not shardc opt %s --passes inline 2>&1 | FileCheck %s

// CHECK: error[SH0210]: @f calls itself, directly or indirectly
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
