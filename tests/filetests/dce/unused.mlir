// Operations without used results are removed, and then the producers of their operands.
// RUN: shardc opt %s --passes dce | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK-NEXT: %0 = stablehlo.negate %arg0
// CHECK-NEXT: return %0
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %a : tensor<4xf32>
  %1 = stablehlo.add %0, %a : tensor<4xf32>
  %2 = stablehlo.negate %a : tensor<4xf32>
  return %2 : tensor<4xf32>
}
