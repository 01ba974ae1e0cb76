// The device ids of a mesh must be a permutation.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0211]: {{.*}}1 is repeated
sdy.mesh @mesh = <["x"=4], device_ids=[0, 1, 1, 3]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
