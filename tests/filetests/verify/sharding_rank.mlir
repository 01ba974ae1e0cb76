// A sharding has as many dimensions as its tensor.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK: error[SH0212]: {{.*}}has 1 dimensions
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4x8xf32> {
  return %a : tensor<4x8xf32>
}
