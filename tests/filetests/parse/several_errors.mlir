// The parser continues after an error and reports all errors.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %nope : tensor<4xf32>
  %1 = stablehlo.add %a, %neither : tensor<4xf32>
  return %a : tensor<4xf32>
}
// CHECK: %nope
// CHECK: %neither
