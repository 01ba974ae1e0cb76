// The parameters of a function may be only types if the entry block of its body names them.
// RUN: shardc opt %s | FileCheck %s

// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<2xi32>) -> tensor<4xf32>
func.func @main(tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32> {
^bb0(%x: tensor<4xf32>, %arg1: tensor<2xi32>):
  // CHECK-NEXT: stablehlo.add %[[X]], %[[X]]
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
