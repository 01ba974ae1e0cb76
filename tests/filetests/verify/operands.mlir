// The number and the types of operands.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH02{{[0-9]+}}]: {{.*}}stablehlo.add
func.func @main(%a: tensor<4xf32>, %b: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
