// Concatenation of parts with unknown sizes: their offsets are unknown too, and no sum is computed.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<5x?xi32>, %b: tensor<5x?xi32>) -> tensor<5x?xi32> {
  // CHECK: stablehlo.concatenate %arg0, %arg1, dim = 1
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<5x?xi32>, tensor<5x?xi32>) -> tensor<5x?xi32>
  return %0 : tensor<5x?xi32>
}
